"""What the zones of a learner share, and what they ask of each other's parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from clearwatt.service.files import Checkpoints, ModelFiles
from clearwatt.service.folders import Folders
from clearwatt.service.learner.leases import ZoneLeases
from clearwatt.service.learner.outages import Outages
from clearwatt.service.records import Entry, Outcome, RegisteredEntity, Zone
from clearwatt.service.status import ZoneStatus
from clearwatt.service.store import Store
from clearwatt.training.fleet import Job
from clearwatt.training.streams import Stream, TrainingResults


class Learning(Protocol):
    """Applies a zone's journal; see `learner.apply.zone_learning.ZoneLearning`."""

    @property
    def position(self) -> int:
        """The number of the last entry applied."""

    @property
    def due_checkpoint(self) -> bool:
        """Whether applying the entries since the last checkpoint again would take long.

        Trainings are not looked at: the learner knows how long they took.
        """

    def apply(
        self, entries: Sequence[Entry], entities: Sequence[RegisteredEntity]
    ) -> Stream[Outcome]:
        """Apply entries; yields training jobs, returns the outcome."""

    def save(self, folder: Path) -> None:
        """Write a checkpoint."""

    @property
    def refresh_interval(self) -> float:
        """Least seconds between two calls of `find_latest`."""

    def find_latest(self) -> bytes | None:
        """What readings that are not learned from yet change in forecasts; None: nothing."""


class LearningFactory(Protocol):
    """A class with this constructor and this class method, such as `ZoneLearning`."""

    def __call__(self, zone: Zone, *, store: Store, files: ModelFiles) -> Learning:
        """A zone before its first journal entry."""

    def load(self, folder: Path, *, zone: Zone, store: Store, files: ModelFiles) -> Learning:
        """A zone from a checkpoint; StateError if it is damaged."""


class Trainer(Protocol):
    """Trains jobs; see `clearwatt.service.learner.updater.Updater`."""

    @property
    def waiting(self) -> int:
        """Number of trainings that wait for a worker."""

    def submit(self, jobs: Sequence[Job]) -> Future[TrainingResults]:
        """Submit jobs to be trained together."""


@dataclass(frozen=True, eq=False)
class LearnerContext:
    """Resources that all zones share.

    ``publish`` is called with the status after each commit, ``refresh`` with a zone and what the
    newest readings change in its forecasts, ``wake`` when a training is done, from any thread.
    ``resting`` has the states of zones that are not in memory; None: all zones stay there.
    """

    store: Store
    files: ModelFiles
    checkpoints: Checkpoints
    trainer: Trainer
    learning: LearningFactory
    outages: Outages
    leases: ZoneLeases
    publish: Callable[[ZoneStatus], None]
    refresh: Callable[[str, bytes], None]
    wake: Callable[[], None]
    resting: Folders | None = None
