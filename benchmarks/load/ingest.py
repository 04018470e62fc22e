"""Readings per second over HTTP while forecasts are requested."""

from __future__ import annotations

import time
from collections.abc import Iterator

from clearwatt.service.client import Client
from clearwatt.service.settings import ForecasterName
from clearwatt.service.times import text
from load.callers import ask_forecasts, callers, get, post
from load.figures import Figure, Part, print_progress
from load.region import DAY, START, STEP, Region, prepare, row_batches, wait_for_zones
from load.server import serving

BATCH = 1000
CONNECTIONS = 2
ASKED = 10.0
"""Requested forecasts per second."""
MOST = 1500
"""Upper limit of rows, because the weather is sent before."""
SETTINGS: dict[ForecasterName, dict[str, object]] = {"adaptive": {}, "clear": {"warmup_epochs": 5}}
GOALS = {"SQLite": 10_000, "PostgreSQL": 5_000}


def measure(*, forecaster: ForecasterName, database: str | None, seconds: float) -> Part:
    """Send rows of 1,000 meters in ten learning zones, and request forecasts at the same time."""
    kind = "PostgreSQL" if database else "SQLite"
    region = Region(zones=10, meters=100, days=20, settings=SETTINGS[forecaster])
    with serving(database) as service, callers(2) as pool:
        print_progress(f"ingest, {kind}: warming up {len(region.everyone)} meters")
        pool.submit(prepare, service.url, region).result()
        until = START + region.days * DAY
        cold = pool.submit(get, service.url, _first_of_each(region), connections=1).result()[0]
        print_progress(f"ingest, {kind}: sending for {seconds:g} s")
        began = time.perf_counter()
        asked = pool.submit(
            ask_forecasts,
            service.url,
            region.everyone,
            between=(until - 3 * DAY, until),
            seconds=seconds,
            rate=ASKED,
        )
        rows, took = pool.submit(send_rows, service.url, region, seconds).result()
        with Client(service.url) as client:
            last = START + STEP * (region.history + rows - 1)
            wait_for_zones(client, region, lambda zone: _newest(zone, last))
        judged = time.perf_counter() - began
        forecasts = asked.result()
        memory = service.memory.stop()
    return Part(
        f"ingest over HTTP, {kind}, {ASKED:g} forecasts/s meanwhile",
        (
            Figure("readings taken in", rows * BATCH / took, "1/s", GOALS[kind]),
            Figure("until all were judged", judged, "s"),
            Figure("first forecast of a zone, models read", 1000 * cold / region.zones, "ms"),
            Figure("forecasts meanwhile, p50", forecasts.percentile(50), "ms"),
            Figure("forecasts meanwhile, p99", forecasts.percentile(99), "ms"),
            Figure("forecasts that failed", len(forecasts.failures), "", 0, "at most"),
        ),
        memory,
    )


def send_rows(url: str, region: Region, seconds: float) -> tuple[int, float]:
    """Send rows after the history for some time; return their number and the seconds."""
    rows, end = 0, time.perf_counter() + seconds

    def due() -> Iterator[bytes]:
        nonlocal rows
        for body in row_batches(region, region.history, MOST, size=BATCH):
            if time.perf_counter() > end:
                return
            rows += 1
            yield body

    took = post(url, "/v1/measurements", due(), connections=CONNECTIONS)
    return rows, took


def _first_of_each(region: Region) -> list[str]:
    """Paths of one forecast per zone; the service loads models at the first request."""
    start = START + region.history * STEP
    times = f"start={text(start)}&end={text(start + DAY)}"
    return [f"/v1/forecasts?entity={region.meters_of(zone)[0]}&{times}" for zone in region.names]


def _newest(zone: dict[str, object], time: int) -> bool:
    return zone["watermark"] == text(time)
