"""A zone with one entity in a folder, a store, and its learner."""

from __future__ import annotations

import time
from concurrent.futures import Future
from pathlib import Path

import numpy as np
from tests.service.tally import Tally

from clearwatt.service.files import Checkpoints, ModelFiles
from clearwatt.service.folders import DiskFolders
from clearwatt.service.learner import pace
from clearwatt.service.learner.context import LearnerContext, LearningFactory
from clearwatt.service.learner.leases import EveryZone
from clearwatt.service.learner.outages import Outages
from clearwatt.service.learner.zone_learner import ZoneLearner
from clearwatt.service.records import READING, Command, RegisteredEntity, Zone
from clearwatt.service.status import ZoneStatus
from clearwatt.service.store import open_store
from clearwatt.training.fleet import train


class Here:
    """Trains at once, in this process, or fails as told."""

    failure: Exception | None = None
    waiting = 0

    def submit(self, jobs):
        future = Future()
        if self.failure is not None:
            future.set_exception(self.failure)
        else:
            future.set_result(train(jobs))
        return future


class Station:
    """A zone with one entity in a folder, a store, and whoever learns it."""

    def __init__(self, folder: Path, store=None) -> None:
        self.folder = folder
        self.store = store or open_store(folder / "clearwatt.db")
        self.zone = Zone("town", 900, ("wind",))
        self.store.add_zone(self.zone)
        (self.entity,) = self.store.add_entities([RegisteredEntity("pv", "town", "generator")])
        self.checkpoints = Checkpoints(folder)
        self.files = ModelFiles(folder)
        self.trainer = Here()
        self.published: list[ZoneStatus] = []
        self.refreshed: list[tuple[str, bytes]] = []
        self.outages = Outages(self.store)
        self.restart()

    def restart(self, learning: LearningFactory = Tally) -> None:
        context = LearnerContext(
            store=self.store,
            files=self.files,
            checkpoints=self.checkpoints,
            trainer=self.trainer,
            learning=learning,
            outages=self.outages,
            leases=EveryZone(),
            publish=self.published.append,
            refresh=lambda zone, content: self.refreshed.append((zone, content)),
            wake=lambda: None,
            resting=DiskFolders(self.folder / "resting"),
        )
        self.learner = ZoneLearner(self.zone, context)

    def send(self, *values: float, start: int = 0) -> None:
        readings = np.zeros(len(values), READING)
        readings["entity"] = self.entity.number
        readings["time"] = 900 * (start + np.arange(len(values)))
        readings["value"] = values
        self.store.add_readings(readings, at=0.0)

    def command(self, kind, **arguments) -> None:
        self.store.add_command(Command(kind, "town", None, arguments, "test", 0.0))

    def catch_up(self, turns: int = 200) -> None:
        """Let it do whatever it has to do by now, without waiting for the clock."""
        for _ in range(turns):
            if self.learner.next_due(self.head) > time.monotonic() + pace.PAUSE:
                return
            self.learner.run_step(self.head)
        raise AssertionError("it did not come to rest")

    @property
    def head(self) -> int:
        return self.store.heads()["town"]

    @property
    def status(self) -> ZoneStatus:
        return self.store.statuses()["town"]

    def kinds(self) -> list[str]:
        return [event.kind for event in reversed(self.store.events(limit=1000))]
