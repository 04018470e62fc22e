"""A region of 60 small zones, whose readings arrive in several streams at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from tests.service.durability.delivery import HOUR, START, Readings
from tests.service.durability.feeding import Feeder, Request, settle
from tests.service.durability.remains import remains
from tests.service.running import PATIENCE, running

from clearwatt.service.api.schemas.entities import NewEntity
from clearwatt.service.api.schemas.zones import NewZone
from clearwatt.service.client import Client
from clearwatt.service.times import text

HISTORY = 200
STREAMS = 4
TOGETHER = 5
"""Zones whose readings of an hour are one request."""
REGIMES = (1.0, 1.8, 0.6, 1.3)
CHANGE = 30
"""Hours after which the meters behave otherwise, so that models are updated."""
CLEAR = {
    "novelty_capacity": 15,
    "alpha": 1.1,
    "epochs": 3,
    "warmup_epochs": 3,
    "width": 8,
    "layers": 1,
    "latent": 4,
    "lateness": 6 * HOUR,
    "gate_margin": None,
}
ADAPTIVE = {
    "forecaster": "adaptive",
    "memory": 200,
    "novelty_days": 1.0,
    "alpha": 1.1,
    "lateness": 6 * HOUR,
    "refresh": 30,
}
LIMITS = ("--rate", "1e9", "--burst", "1000000000")
"""All callers have one address, and limits are by address."""


@dataclass(frozen=True)
class Weather:
    """An issue of one zone, from a row on."""

    region: Region
    zone: str
    first: int
    stop: int

    def send(self, client: Client) -> None:
        rows = range(self.first, self.stop)
        client.send_weather(
            self.zone,
            issued_at=text(START + HOUR * self.first),
            times=[text(START + HOUR * row) for row in rows],
            values={"wind": self.region.wind[self.zone][self.first : self.stop].tolist()},
        )


class Region:
    """Weather and power of zones with one or two meters each; every fourth zone is adaptive.

    Args:
        rows: Hours after the history.
        zones: Number of zones.
    """

    def __init__(self, rows: int, zones: int = 60) -> None:
        self.rows = rows
        self.zones = [f"zone-{number:02d}" for number in range(zones)]
        self.meters = {
            zone: [f"{zone}-{letter}" for letter in "ab"[: 1 + number % 2]]
            for number, zone in enumerate(self.zones)
        }
        total = HISTORY + rows + 96
        rng = np.random.default_rng(5)
        changes = np.maximum(0, np.arange(total) - HISTORY) // CHANGE % len(REGIMES)
        regime = np.array(REGIMES)[changes]
        self.wind = {zone: 10 * regime * rng.random(total) for zone in self.zones}
        self._power = {
            name: (3 + position) * self.wind[zone] * regime
            for zone, names in self.meters.items()
            for position, name in enumerate(names)
        }

    def begin(self, client: Client) -> None:
        """Register everyone, send the history, and have it learned from."""
        for number, zone in enumerate(self.zones):
            settings = CLEAR if number % 4 else ADAPTIVE
            client.add_zone(NewZone(id=zone, step=HOUR, variables=["wind"], settings=settings))
        client.add_entities(
            [
                NewEntity(id=name, zone=zone, kind="generator", capacity=200)
                for zone, names in self.meters.items()
                for name in names
            ]
        )
        for zone in self.zones:
            Weather(self, zone, 0, HISTORY + self.rows + 96).send(client)
        for row in range(0, HISTORY, 50):
            self._readings(self.zones, row, row + 50).send(client)
        for zone in self.zones:
            client.warmup(zone=zone)

    def streams(self) -> list[list[Request]]:
        """Requests of each stream, in order; no two streams have a zone in common."""
        return [list(self._stream(self.zones[first::STREAMS])) for first in range(STREAMS)]

    def _stream(self, zones: Sequence[str]) -> Iterator[Request]:
        for row in range(HISTORY, HISTORY + self.rows):
            for first in range(0, len(zones), TOGETHER):
                yield self._readings(zones[first : first + TOGETHER], row, row + 1)
            yield Weather(self, zones[row % len(zones)], row, row + 72)

    def _readings(self, zones: Sequence[str], first: int, stop: int) -> Readings:
        return Readings(
            tuple(
                (name, row, float(self._power[name][row]))
                for row in range(first, stop)
                for zone in zones
                for name in self.meters[zone]
            )
        )


class Feeders:
    """Feeders of all streams, which advance together."""

    def __init__(self, feeders: Sequence[Feeder]) -> None:
        self._feeders = feeders

    def allow(self, share: float) -> None:
        """Let such a share of the requests be sent."""
        for feeder in self._feeders:
            feeder.allow(int(share * len(feeder.requests)))

    def deliver(self, patience: float = PATIENCE) -> None:
        """Let all be sent, and wait until they are acknowledged."""
        self.allow(1.0)
        for feeder in self._feeders:
            feeder.deliver(patience=patience)

    @property
    def acknowledged(self) -> int:
        """Acknowledged requests."""
        return sum(feeder.acknowledged for feeder in self._feeders)


@contextmanager
def feeding(url: str, region: Region, *, pause: float = 0.0) -> Iterator[Feeders]:
    """Send the streams of a region, as far as it is allowed."""
    with ExitStack() as stack:
        yield Feeders(
            [
                stack.enter_context(Feeder(url, requests, pause=pause, repeat=False))
                for requests in region.streams()
            ]
        )


def undisturbed(folder: Path, region: Region, *, prefix: Sequence[str] = ()) -> dict[str, Any]:
    """What the region leads to in one service that nobody touches; ``prefix`` starts it."""
    folder.mkdir()
    with (
        running(folder / "data", "--prior-days", "0", *LIMITS, prefix=prefix) as service,
        Client(service.url) as client,
        feeding(service.url, region) as feeders,
    ):
        region.begin(client)
        feeders.deliver(10 * PATIENCE)
        settle(client, 10 * PATIENCE)
        assert service.stop() == 0
    return remains(folder / "data")
