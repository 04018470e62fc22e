"""How fast readings come in over HTTP while forecasts go out."""

from __future__ import annotations

import time

from clearwatt.service.client import Client
from load.callers import ask_forecasts, callers, post
from load.figures import Figure, Part, tell
from load.region import DAY, START, STEP, Region, await_zones, prepare, row_batches
from load.server import serving

BATCH = 1000
CONNECTIONS = 2
ASKED = 10.0
"""Forecasts per second meanwhile."""
GOALS = {"SQLite": 10_000, "PostgreSQL": 5_000}


def measure(*, database: str | None, rows: int) -> Part:
    """Send rows of 1,000 meters of ten zones that learn, in batches of 1,000, and ask meanwhile."""
    kind = "PostgreSQL" if database else "SQLite"
    region = Region(zones=10, meters=100, settings={"warmup_epochs": 5, "seed": 1}, days=14)
    with serving(database) as service, callers(2) as pool:
        tell(f"ingest, {kind}: warming up {len(region.everyone)} meters")
        pool.submit(prepare, service.url, region).result()
        tell(f"ingest, {kind}: sending {rows} rows")
        until = START + region.days * DAY
        began = time.perf_counter()
        asked = pool.submit(
            ask_forecasts,
            service.url,
            region.everyone,
            between=(until - 3 * DAY, until),
            seconds=rows * BATCH / GOALS[kind],
            rate=ASKED,
        )
        seconds = pool.submit(send_rows, service.url, region, rows).result()
        with Client(service.url) as client:
            last = START + STEP * (region.history + rows - 1)
            await_zones(client, region, lambda zone: _newest(zone, last))
        judged = time.perf_counter() - began
        forecasts = asked.result()
        memory = service.memory.stop()
    return Part(
        f"ingest over HTTP, {kind}, {ASKED:g} forecasts/s meanwhile",
        (
            Figure("readings taken in", rows * BATCH / seconds, "1/s", GOALS[kind]),
            Figure("until all were judged", judged, "s"),
            Figure("forecasts meanwhile, p50", forecasts.percentile(50), "ms"),
            Figure("forecasts meanwhile, p99", forecasts.percentile(99), "ms"),
            Figure("forecasts that failed", len(forecasts.failures), "", 0, "at most"),
        ),
        memory,
    )


def send_rows(url: str, region: Region, rows: int) -> float:
    """Send rows after the history; bodies are made before: meters have machines of their own."""
    bodies = list(row_batches(region, region.history, rows, size=BATCH))
    return post(url, "/v1/measurements", bodies, connections=CONNECTIONS)


def _newest(zone: dict[str, object], time: int) -> bool:
    from clearwatt.service.times import text

    return zone["watermark"] == text(time)
