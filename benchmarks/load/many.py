"""Ten thousand meters in one service: memory, a day of readings, forecasts of all."""

from __future__ import annotations

import json
import time

from clearwatt.service.client import Client
from clearwatt.service.settings import ForecasterName
from clearwatt.service.times import text
from load.callers import callers, get, post
from load.figures import Figure, Part, print_progress
from load.region import DAY, ROWS, SETTLE, START, STEP, Region, prepare, row_batches, wait_for_zones
from load.server import serving

SETTINGS: dict[ForecasterName, dict[str, object]] = {
    "adaptive": {},
    "clear": {"warmup_epochs": 3, "warmup_patience": None},
}
GIGABYTE = 1e9
BATCH = 1000


def measure(*, forecaster: ForecasterName, zones: int, meters: int, history: int) -> Part:
    """Warm up all meters, send a day of readings, and request forecasts of the next day.

    The warm-up is short (``history`` days, a few epochs) and not part of the goals. A row is judged
    two hours after it, so two hours are sent before the clock starts. In a service that runs all
    day they are the rows left from the day before.
    """
    region = Region(
        zones, meters, history=history * ROWS, days=history + 3, settings=SETTINGS[forecaster]
    )
    readings = ROWS * zones * meters
    with serving() as service, callers(1) as pool:
        print_progress(f"many: warming up {zones * meters} meters of {zones} zones")
        warmup = pool.submit(warm_up, service.url, region).result()
        print_progress(f"many: {warmup:.0f} s; sending {readings} readings")
        taken, judged = pool.submit(send_day, service.url, region).result()
        print_progress(f"many: {judged:.0f} s; forecasts of all")
        seconds, models = pool.submit(forecast_all, service.url, region).result()
        memory = service.memory.stop()
    share = zones * meters / 10_000
    return Part(
        f"{zones * meters:,} meters in {zones} zones",
        (
            Figure("registration and warm-up", warmup, "s"),
            Figure("a day of readings", readings),
            Figure("taken in", readings / taken, "1/s"),
            Figure("taken in and judged", judged, "s", 600 * share, "at most"),
            Figure("day-ahead forecasts of all", seconds, "s", 60 * share, "at most"),
            Figure("forecasts by a model", models, "", zones * meters),
            Figure("memory of all processes", memory["all at once"] / GIGABYTE, "GB", 4, "at most"),
        ),
        memory,
    )


def warm_up(url: str, region: Region) -> float:
    """Register, warm up and send the pending rows of the day before; return the seconds."""
    began = time.perf_counter()
    prepare(url, region)
    bodies = row_batches(region, region.history, SETTLE, size=BATCH)
    post(url, "/v1/measurements", bodies, connections=2)
    _wait_for_row(url, region, region.history - 1)
    return time.perf_counter() - began


def send_day(url: str, region: Region) -> tuple[float, float]:
    """Send a day row by row; return the seconds until it was stored, and until it was judged."""
    first = region.history + SETTLE
    began = time.perf_counter()
    bodies = row_batches(region, first, ROWS, size=BATCH)
    taken = post(url, "/v1/measurements", bodies, connections=2)
    _wait_for_row(url, region, first + ROWS - 1 - SETTLE)
    return taken, time.perf_counter() - began


def forecast_all(url: str, region: Region) -> tuple[float, int]:
    """Request the next day of every zone; return the seconds and the forecasts by a model."""
    start = START + STEP * (region.history + SETTLE + ROWS)
    times = f"start={text(start)}&end={text(start + DAY)}"
    paths = [f"/v1/forecasts?zone={zone}&{times}" for zone in region.names]
    seconds, answers = get(url, paths, connections=2)
    forecasts = [each for answer in answers for each in json.loads(answer)["forecasts"]]
    return seconds, sum(not each["fallback"] for each in forecasts)


def _wait_for_row(url: str, region: Region, row: int) -> None:
    """Wait until every zone has judged a row."""
    until = text(START + STEP * row)
    with Client(url) as client:
        wait_for_zones(client, region, lambda zone: zone["until"] == until)
