"""Journals for tests: a small simulated zone as entries, and folding them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from clearwatt.service.files import ModelFiles
from clearwatt.service.learner.apply.zone_learning import ZoneLearning
from clearwatt.service.records import (
    READING,
    Command,
    CommandKind,
    Entry,
    Outcome,
    Readings,
    RegisteredEntity,
    WeatherIssue,
    Zone,
)
from clearwatt.service.status import ZoneStatus
from clearwatt.service.store import open_store
from clearwatt.training.fleet import train

STEP = 3600
START = 1_700_006_400  # midnight, UTC
SETTINGS: dict[str, Any] = {
    "novelty_capacity": 60,
    "alpha": 1.2,
    "epochs": 2,
    "width": 8,
    "layers": 1,
    "latent": 4,
    "warmup_epochs": 8,
    "lateness": 6 * STEP,
    "gate_margin": None,
}


@dataclass(frozen=True, eq=False)
class World:
    """Hours of weather (n x 2) and power (n x entities) that drift half-way."""

    times: np.ndarray
    weather: np.ndarray
    power: np.ndarray
    zone: Zone
    entities: tuple[RegisteredEntity, ...]

    @classmethod
    def of(
        cls,
        hours: int = 900,
        entities: int = 2,
        base: Mapping[str, Any] = SETTINGS,
        **settings: Any,
    ) -> World:
        rng = np.random.default_rng(3)
        times = START + STEP * np.arange(hours + 48, dtype=np.int64)
        hour = times // STEP % 24
        wind = 6 + np.cumsum(rng.normal(0, 0.4, len(times)))
        wind = 4 + np.abs(wind - wind.mean())
        sun = np.maximum(0, np.sin((hour - 6) / 12 * np.pi)) * rng.uniform(0.6, 1, len(times))
        weather = np.column_stack([wind, sun]).astype(np.float32)
        level = np.where(np.arange(len(times)) < hours // 2, 1.0, 1.6)
        power = np.column_stack(
            [
                20
                + 10 * level * sun
                + wind
                + 5 * np.sin(hour / 24 * 2 * np.pi + k)
                + rng.normal(0, 0.5, len(times))
                for k in range(entities)
            ]
        )
        zone = Zone("north", STEP, ("wind", "sun"), settings={**base, **settings})
        people = tuple(
            RegisteredEntity(f"e{k}", "north", "consumer", capacity=100.0) for k in range(entities)
        )
        return cls(times, weather, power[:hours].astype(np.float32), zone, people)

    def with_lasting_errors(self) -> World:
        """Power whose deviations from what the weather explains last for hours."""
        noise = np.random.default_rng(8).normal(0, 1.5, self.power.shape)
        lasting = np.zeros_like(noise)
        for row in range(1, len(noise)):
            lasting[row] = 0.9 * lasting[row - 1] + noise[row]
        return replace(self, power=(self.power + lasting).astype(np.float32))

    def issue(self, start: int, stop: int, issued_at: int | None = None) -> WeatherIssue:
        times = self.times[start:stop]
        return WeatherIssue(
            "north",
            int(times[0]) - 12 * STEP if issued_at is None else issued_at,
            times,
            self.weather[start:stop],
        )

    def readings(self, start: int, stop: int, numbers: Sequence[int]) -> Readings:
        part = np.empty((stop - start) * len(numbers), READING)
        part["time"] = np.repeat(self.times[start:stop], len(numbers))
        part["entity"] = np.tile(np.array(numbers), stop - start)
        part["value"] = self.power[start:stop].ravel()
        return part


class Service:
    """A store with a zone in it, and its fold, without processes."""

    def __init__(self, folder: Path, world: World) -> None:
        self.world, self.folder = world, folder
        self.store = open_store(folder / "clearwatt.db")
        self.files = ModelFiles(folder)
        self.store.add_zone(world.zone)
        self.entities = self.store.add_entities(world.entities)
        self.learning = ZoneLearning(world.zone, store=self.store, files=self.files)

    @property
    def numbers(self) -> list[int]:
        return [entity.number for entity in self.entities]

    def history(self, hours: int = 300) -> None:
        """Weather and readings of a warm-up, and the command to learn from them."""
        self.store.add_weather(self.world.issue(0, hours + 24), at=0.0)
        self.send(0, hours)
        self.command("warmup", end=int(self.world.times[hours - 1]))

    def send(self, start: int, stop: int, *, late: int | None = None) -> None:
        """Send rows, so many seconds after the last of them; None: it is not known when."""
        at = 0.0 if late is None else float(self.world.times[stop - 1] + late)
        self.store.add_readings(self.world.readings(start, stop, self.numbers), at=at)

    def weather(self, start: int, stop: int) -> None:
        self.store.add_weather(self.world.issue(start, stop), at=0.0)

    def command(self, kind: CommandKind, entity: str | None = None, **arguments: Any) -> int:
        return self.store.add_command(Command(kind, "north", entity, arguments, "test", 0.0))

    def catch_up(self, limit: int = 1000) -> list[Outcome]:
        outcomes = []
        while entries := self.store.journal("north", after=self.learning.position, limit=limit):
            outcomes.append(self.run(entries))
        return outcomes

    def run(self, entries: Sequence[Entry]) -> Outcome:
        entities = [*self.store.removed_entities("north"), *self.store.entities("north")]
        stream = self.learning.apply(entries, entities)
        try:
            jobs = next(stream)
            while True:
                jobs = stream.send(train(jobs))
        except StopIteration as stop:
            outcome: Outcome = stop.value
            self.store.commit(outcome)
            return outcome

    def reload(self, folder: Path) -> None:
        """As after a kill: go on from a checkpoint."""
        self.learning = ZoneLearning.load(
            folder, zone=self.world.zone, store=self.store, files=self.files
        )

    @property
    def status(self) -> ZoneStatus:
        return self.store.statuses()["north"]

    def kinds(self) -> list[str]:
        return [event.kind for event in reversed(self.store.events(limit=1000))]


def digest(service: Service) -> str:
    models = service.learning.state.models
    assert models is not None
    return models.digest()
