"""Latency of forecasts while models train, compared with that at rest."""

from __future__ import annotations

import time

from clearwatt.service.client import Client
from clearwatt.service.settings import ForecasterName
from load.callers import Answers, ask_forecasts, callers, post
from load.figures import Figure, Part, print_progress
from load.region import DAY, ROWS, START, Region, prepare, row_batches, send_weather
from load.server import serving

RATE = 20.0
"""Requested forecasts per second."""
AHEAD = 24
"""Journal entries that may wait before the feeder pauses, so that learning is always busy."""
SETTINGS: dict[ForecasterName, dict[str, object]] = {
    "adaptive": {"novelty_days": 3.0, "alpha": 1.0},
    "clear": {"novelty_capacity": 300, "alpha": 1.0, "warmup_epochs": 10},
}
GOAL, UPDATES = 3.0, 20
WEEK = 7


def measure(*, forecaster: ForecasterName, idle: float, soak: float) -> Part:
    """Request forecasts at rest for ``idle`` seconds, and for ``soak`` seconds during updates."""
    region = Region(2, 50, history=WEEK * ROWS, days=WEEK + 3, settings=SETTINGS[forecaster])
    with serving() as service, callers(2) as pool, Client(service.url) as client:
        print_progress("soak: warming up")
        pool.submit(prepare, service.url, region).result()
        forecasts = _Forecasts(service.url, region)
        print_progress("soak: forecasts at rest")
        before = pool.submit(forecasts.ask, idle / 2).result()
        print_progress("soak: forecasts while models train")
        fed = pool.submit(feed, service.url, region, soak)
        busy = pool.submit(forecasts.ask, soak).result()
        rows, training = fed.result()
        updates = _count_updates(client)
        _wait_for_rest(client)
        after = pool.submit(forecasts.ask, idle / 2).result()
        memory = service.memory.stop()
    rest = before + after
    for failure in busy.failures[:3]:
        print_progress(f"soak: {failure}")
    return Part(
        f"forecasts of one meter × 96 steps, {RATE:g}/s, {soak:g} s while models train",
        (
            Figure("p50 at rest", rest.percentile(50), "ms"),
            Figure("p99 at rest", rest.percentile(99), "ms"),
            Figure("p50 while models train", busy.percentile(50), "ms"),
            Figure("p99 while models train", busy.percentile(99), "ms"),
            Figure(
                "p99, training : rest",
                busy.percentile(99) / rest.percentile(99),
                "×",
                GOAL,
                "at most",
            ),
            Figure("requests", len(busy.milliseconds)),
            Figure("requests that failed", len(busy.failures), "", 0, "at most"),
            Figure("answers not by the model", busy.fallbacks, "", 0, "at most"),
            Figure("updates swapped in", updates, "", UPDATES),
            Figure("time with a training under way", 100 * training, "%"),
            Figure("readings fed", rows * len(region.everyone)),
        ),
        memory,
    )


class _Forecasts:
    """Requests for forecasts of the last days that the weather covers."""

    def __init__(self, url: str, region: Region) -> None:
        self.url, self.region = url, region

    def ask(self, seconds: float) -> Answers:
        until = START + self.region.days * DAY
        return ask_forecasts(
            self.url,
            self.region.everyone,
            between=(until - 3 * DAY, until),
            seconds=seconds,
            rate=RATE,
        )


def feed(url: str, region: Region, seconds: float) -> tuple[int, float]:
    """Send rows as fast as they are learned; return their number and the share of training time."""
    end, row = time.monotonic() + seconds, region.history
    looks, training = 0, 0
    with Client(url) as client:
        while (now := time.monotonic()) < end:
            status = client.status()
            looks += 1
            training += status.learner["training"] > 0
            if max(zone.journal_behind for zone in status.zones) < AHEAD:
                if row % ROWS == 0:
                    for zone in region.names:
                        send_weather(client, zone, day=row // ROWS, days=3)
                bodies = row_batches(region, row, AHEAD, size=1000)
                post(url, "/v1/measurements", bodies, connections=1)
                row += AHEAD
            time.sleep(max(0.0, now + 0.25 - time.monotonic()))
    return row - region.history, training / looks


def _count_updates(client: Client) -> int:
    """Number of deployed updates."""
    count, after = 0, 0
    while page := client.events(kinds=["update"], after=after, limit=1000).events:
        count, after = count + len(page), page[-1].seq
    return count


def _wait_for_rest(client: Client) -> None:
    """Wait until the learner has nothing to do."""
    while True:
        status = client.status()
        if not status.learner["training"] and not any(z.journal_behind for z in status.zones):
            return
        time.sleep(0.5)
