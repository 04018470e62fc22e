"""Checkpoints of a zone, and removal of model files it no longer needs."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Protocol

from clearwatt.service.files import Checkpoints, ModelFiles
from clearwatt.service.records import Outcome, StoredVersion
from clearwatt.service.store import Store

IDLE_CHECKPOINT = 3600.0
"""Seconds after the last checkpoint until the next one of an idle zone. An hour of rows is applied
again in less time than it takes to write a checkpoint, which has some megabytes."""

MOST_TRAINING = 5.0
"""Seconds of training that are repeated after a crash; with more, a checkpoint is due."""

_PAGE = 1000


class Savable(Protocol):
    """Whatever a checkpoint is made of."""

    @property
    def position(self) -> int:
        """The number of the last entry applied."""

    def save(self, folder: Path) -> None:
        """Write everything needed to continue from there."""


class Upkeep:
    """Decides when a zone's next checkpoint is due and removes old model files with it."""

    def __init__(
        self, zone: str, store: Store, files: ModelFiles, checkpoints: Checkpoints
    ) -> None:
        self._zone, self._store, self._files, self._checkpoints = zone, store, files, checkpoints
        self.due = False
        self._position = 0
        self._at = time.monotonic()
        self._training = 0.0
        self._new_versions = False
        self._outdated: set[str] = set()

    def has_changes(self, position: int) -> bool:
        """Whether an entry was applied since the last checkpoint."""
        return position > self._position

    def next_checkpoint(self, position: int) -> float:
        """When the next checkpoint is due, by `time.monotonic`."""
        if not self.has_changes(position):
            return math.inf
        return self._at if self.due else self._at + IDLE_CHECKPOINT

    def note_training(self, seconds: float) -> None:
        """Note a training that would be repeated without a checkpoint."""
        self._training += seconds

    def record(self, outcome: Outcome, *, due: bool) -> None:
        """Note a committed outcome."""
        self.due = self.due or due or self._training >= MOST_TRAINING
        self._new_versions = self._new_versions or bool(outcome.versions)

    def checkpoint(self, learning: Savable) -> None:
        """Write a checkpoint and remove outdated model files."""
        self._checkpoints.write(self._zone, learning.position, learning.save)
        self.note_checkpoint(learning.position)
        if self._new_versions or self._outdated:
            self._prune()

    def note_checkpoint(self, position: int) -> None:
        """Note a checkpoint at this position."""
        self._position, self._at, self.due = position, time.monotonic(), False
        self._training = 0.0

    def _prune(self) -> None:
        outdated = self._files.find_outdated(self._versions())
        # One checkpoint later, so that neither of the two that are kept can still ask for them.
        self._files.remove(outdated & self._outdated)
        self._outdated, self._new_versions = outdated - self._outdated, False

    def _versions(self) -> Iterator[StoredVersion]:
        offset = 0
        every = partial(self._store.versions, zone=self._zone, limit=_PAGE, deleted=True)
        while page := every(offset=offset):
            yield from page
            offset += len(page)
