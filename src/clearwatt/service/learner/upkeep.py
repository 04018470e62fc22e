"""A zone's checkpoints, and the model files that it needs no longer."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from clearwatt.service.files import Checkpoints, ModelFiles
from clearwatt.service.records import Outcome, Version
from clearwatt.service.store import Store

IDLE_CHECKPOINT = 300.0
"""Seconds after which what was folded since the last checkpoint gets one."""

_PAGE = 1000


class Savable(Protocol):
    """A fold, as far as checkpoints are concerned."""

    @property
    def position(self) -> int:
        """The number of the last entry folded."""

    def save(self, folder: Path) -> None:
        """Write everything needed to go on from there."""


class Upkeep:
    """When a zone's next checkpoint is due, and what else is done then."""

    def __init__(
        self, zone: str, store: Store, files: ModelFiles, checkpoints: Checkpoints
    ) -> None:
        self._zone, self._store, self._files, self._checkpoints = zone, store, files, checkpoints
        self.due = False
        self._position = 0
        self._at = time.monotonic()
        self._new_versions = False
        self._doomed: set[str] = set()

    def owed(self, position: int) -> bool:
        """Whether anything was folded since the last checkpoint."""
        return position > self._position

    def when(self, position: int) -> float:
        """When the next checkpoint is due, by `time.monotonic`."""
        if not self.owed(position):
            return math.inf
        return self._at if self.due else self._at + IDLE_CHECKPOINT

    def note(self, outcome: Outcome, *, due: bool) -> None:
        """Take note of what was committed."""
        self.due = self.due or due
        self._new_versions = self._new_versions or bool(outcome.versions)

    def checkpoint(self, learning: Savable) -> None:
        """Write a checkpoint and remove the model files that have become too many."""
        self._checkpoints.write(self._zone, learning.position, learning.save)
        self.done(learning.position)
        if self._new_versions or self._doomed:
            self._prune()

    def done(self, position: int) -> None:
        """Take note of a checkpoint at this position."""
        self._position, self._at, self.due = position, time.monotonic(), False

    def _prune(self) -> None:
        outdated = self._files.outdated(self._versions())
        # One checkpoint later, so that neither of the two that are kept can still ask for them.
        self._files.remove(outdated & self._doomed)
        self._doomed, self._new_versions = outdated - self._doomed, False

    def _versions(self) -> Iterator[Version]:
        offset = 0
        while page := self._store.versions(zone=self._zone, limit=_PAGE, offset=offset):
            yield from page
            offset += len(page)
