"""What is delivered to a service under test: always the same, in requests that may be repeated."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from clearwatt.service.api.schemas.entities import NewEntity
from clearwatt.service.api.schemas.zones import NewZone
from clearwatt.service.client import Client, Series
from clearwatt.service.times import text

HOUR = 3600
START = 1_577_836_800  # 2020, midnight UTC
HISTORY = 200
BATCH = 2
"""Rows of a request."""
BLOCK = 3 * BATCH
"""Rows between two deliveries that are not just the next readings; as long as the lateness."""
WEATHER_EVERY, LATE_EVERY, CORRECT_EVERY = 4, 5, 7
"""Blocks."""
ZONES = {"north": ("farm", "park"), "south": ("town", "mill")}
NAMES = tuple(name for names in ZONES.values() for name in names)
REGIMES = (1.0, 1.8, 0.6, 1.3)

CLEAR = {
    "novelty_capacity": 20,
    "alpha": 1.1,
    "epochs": 40,
    "warmup_epochs": 10,
    "width": 8,
    "layers": 1,
    "latent": 4,
    "lateness": BLOCK * HOUR,
    "gate_margin": None,
}
"""Small networks and frequent updates whose training is long enough to be caught at it."""
ADAPTIVE = {
    "forecaster": "adaptive",
    "memory": 400,
    "novelty_days": 0.3,
    "alpha": 1.1,
    "lateness": BLOCK * HOUR,
    "refresh": 0,
}
"""Frequent updates, and a refresh after each batch."""
SETTINGS = {"north": ADAPTIVE, "south": CLEAR}
"""Both kinds of forecaster: whatever is done to the service, it is done to both."""


@dataclass(frozen=True)
class Readings:
    """Readings as (entity, row, value), and how they are sent; None is no value."""

    items: tuple[tuple[str, int, float | None], ...]

    def send(self, client: Client) -> None:
        client.send_measurements(
            [
                Series(
                    name,
                    [text(START + HOUR * row) for entity, row, _ in self.items if entity == name],
                    [value for entity, _, value in self.items if entity == name],
                )
                for name in dict.fromkeys(entity for entity, _, _ in self.items)
            ]
        )


@dataclass(frozen=True)
class Weather:
    """Issues of all zones at a row, for so many rows."""

    world: World
    row: int
    rows: int

    def send(self, client: Client) -> None:
        first, stop = self.row, self.row + self.rows
        for zone in ZONES:
            client.send_weather(
                zone,
                issued_at=text(START + HOUR * first),
                times=[text(START + HOUR * row) for row in range(first, stop)],
                values={
                    "wind": self.world.wind[zone][first:stop].tolist(),
                    "sun": self.world.sun[zone][first:stop].tolist(),
                },
            )


Request = Readings | Weather


class World:
    """Weather and power of two zones with two meters each, whose behaviour changes again and again.

    Args:
        blocks: how long it goes on after its history.
    """

    def __init__(self, blocks: int) -> None:
        self.blocks = blocks
        rows = HISTORY + BLOCK * blocks + 96
        rng = np.random.default_rng(5)
        regime = np.array(REGIMES)[np.maximum(0, np.arange(rows) - HISTORY) // 60 % len(REGIMES)]
        self.wind = {zone: 10 * regime * rng.random(rows) for zone in ZONES}
        self.sun = {zone: 800 * rng.random(rows) for zone in ZONES}
        self._power = {
            "farm": 3 * self.wind["north"] * regime,
            "park": 0.05 * self.sun["north"] * regime,
            "town": 30 + 0.02 * self.sun["south"] * regime - self.wind["south"],
            "mill": 20 + self.wind["south"] * regime,
        }

    def begin(self, client: Client) -> None:
        """Register everyone, send the history, and have it learned from."""
        for zone, names in ZONES.items():
            client.add_zone(
                NewZone(id=zone, step=HOUR, variables=["wind", "sun"], settings=SETTINGS[zone])
            )
            client.add_entities(
                [NewEntity(id=name, zone=zone, kind="generator", capacity=200) for name in names]
            )
        Weather(self, 0, HISTORY + 48).send(client)
        self._rows(0, HISTORY).send(client)
        for zone in ZONES:
            client.warmup(zone=zone)

    def requests(self, arranged: Callable[[Readings, int], Sequence[Readings]]) -> list[Request]:
        """All that follows; ``arranged`` says how the plain readings of a block are delivered."""
        return [each for block in range(self.blocks) for each in self._block(block, arranged)]

    def _block(
        self, block: int, arranged: Callable[[Readings, int], Sequence[Readings]]
    ) -> Iterator[Request]:
        first = HISTORY + BLOCK * block
        if block % WEATHER_EVERY == 0:
            yield Weather(self, first, 72)
        rows = self._rows(first, first + BLOCK)
        withheld = self._withheld(block)
        yield from arranged(Readings(tuple(i for i in rows.items if i not in withheld)), block)
        if block % LATE_EVERY == LATE_EVERY - 1:
            yield Readings(self._withheld(block - 3))
        if block % CORRECT_EVERY == CORRECT_EVERY - 1:
            row = first - 2 * BLOCK + 1
            yield Readings(
                tuple((name, row, 0.9 * float(self._power[name][row])) for name in ("farm", "mill"))
            )

    def _withheld(self, block: int) -> tuple[tuple[str, int, float | None], ...]:
        """What of a block is delivered only when it is late."""
        if block % LATE_EVERY != LATE_EVERY - 4 or block + 3 >= self.blocks:
            return ()
        row = HISTORY + BLOCK * block + 2
        return self._item("farm", row), self._item("town", row)

    def _rows(self, first: int, stop: int) -> Readings:
        return Readings(
            tuple(self._item(name, row) for row in range(first, stop) for name in NAMES)
        )

    def _item(self, name: str, row: int) -> tuple[str, int, float | None]:
        gap = name == "park" and row % 50 < 2
        return name, row, None if gap else float(self._power[name][row])


def in_order(readings: Readings, block: int) -> list[Readings]:
    """A block's readings row by row, a few rows at once."""
    starts = range(HISTORY + BLOCK * block, HISTORY + BLOCK * (block + 1), BATCH)
    return [
        Readings(tuple(item for item in readings.items if start <= item[1] < start + BATCH))
        for start in starts
    ]


def in_disorder(readings: Readings, block: int) -> list[Readings]:
    """A block's readings shuffled, every third of them twice, in requests of any length."""
    rng = np.random.default_rng([9, block])
    items = [*readings.items, *readings.items[::3]]
    order = rng.permutation(len(items)).tolist()
    cuts = np.split(np.array(order), sorted(rng.integers(1, len(order), 3).tolist()))
    return [Readings(tuple(items[int(i)] for i in part)) for part in cuts if len(part)]
