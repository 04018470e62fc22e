"""Where a zone's state is loaded from, and where it rests while it is not in memory."""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
import time
from dataclasses import dataclass
from pathlib import Path

from clearwatt.errors import StateError
from clearwatt.service.files import ZoneCheckpoint
from clearwatt.service.folders import Folders
from clearwatt.service.learner.context import LearnerContext, Learning
from clearwatt.service.learner.upkeep import Upkeep
from clearwatt.service.records import ServiceEvent, Zone

DAMAGE = (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)
"""Errors of loading a damaged checkpoint, StateError among them; those of store and disk pass."""

_LOG = logging.getLogger(__name__)


class ZoneStates:
    """Loads the state of a zone, and puts it aside.

    A state that rests is on the disk of this machine, for this process only. Whoever takes the zone
    over, after a crash too, continues from the newest checkpoint.

    Args:
        zone: The zone.
        context: What all zones share.
        upkeep: Of the zone's checkpoints.
    """

    def __init__(self, zone: Zone, context: LearnerContext, upkeep: Upkeep) -> None:
        self._zone, self._context, self._upkeep = zone, context, upkeep
        self.rested: int | None = None
        """The last entry applied to the state that rests; None: none does."""

    def load(self, head: int) -> Learning:
        """The zone as it was put aside, from its newest intact checkpoint, or at its beginning."""
        return self._wake() or self._load_newest(head)

    def rest(self, learning: Learning) -> None:
        """Put a state aside; a checkpoint that is due is written, too."""
        self._resting.write(self._path, learning.save)
        if self._upkeep.next_checkpoint(learning.position) <= time.monotonic():
            self._checkpoint(learning.position)
        self.rested = learning.position  # last: until then it stays in memory

    def finish(self) -> None:
        """Write a checkpoint of a state that rests, unless its entries are in one."""
        if self.rested is not None and self._upkeep.has_changes(self.rested):
            self._checkpoint(self.rested)

    def drop(self) -> None:
        """Delete a state that rests."""
        if self.rested is not None:
            self.rested = None
            self._resting.remove(self._path)

    def _checkpoint(self, position: int) -> None:
        with self._resting.open(self._path) as folder:
            self._upkeep.checkpoint(_RestedState(position, folder))

    def _wake(self) -> Learning | None:
        """The state that rests; None if there is none, or it is damaged."""
        if self.rested is None:
            return None
        learning: Learning | None = None
        try:
            with self._resting.open(self._path) as folder:
                learning = self._read(folder)
        except (*DAMAGE, OSError) as error:
            _LOG.error("state set aside is damaged", extra={"zone": self._zone.id}, exc_info=error)
        self.drop()
        return learning

    def _load_newest(self, head: int) -> Learning:
        context, zone = self._context, self._zone
        base = context.store.journal_base(zone.id)
        for checkpoint in context.checkpoints.newest(zone.id):
            if checkpoint.position < base:
                break  # of a deleted zone with this id
            try:
                learning = self._read_checkpoint(checkpoint, head)
            except DAMAGE as error:
                self._set_aside(checkpoint, error)
            else:
                self._upkeep.note_checkpoint(learning.position)
                return learning
        learning = context.learning(zone, store=context.store, files=context.files)
        self._upkeep.note_checkpoint(learning.position)
        return learning

    def _read_checkpoint(self, checkpoint: ZoneCheckpoint, head: int) -> Learning:
        if checkpoint.position > head:
            raise StateError(
                f"it follows entry {checkpoint.position}, but the journal ends with {head}"
            )
        with self._context.checkpoints.open(checkpoint) as folder:
            return self._read(folder)

    def _read(self, folder: Path) -> Learning:
        context = self._context
        return context.learning.load(
            folder, zone=self._zone, store=context.store, files=context.files
        )

    def _set_aside(self, checkpoint: ZoneCheckpoint, error: Exception) -> None:
        reason = str(error) if isinstance(error, StateError) else first_line(error)
        _LOG.error("checkpoint set aside", extra={"checkpoint": checkpoint.path}, exc_info=error)
        event = ServiceEvent(
            f"damaged:{self._zone.id}:{checkpoint.name}:{time.time_ns()}",
            "damaged",
            f"the checkpoint {checkpoint.name} of {self._zone.id} cannot be used ({reason}); an "
            "earlier state is, and the journal is applied again from there",
            time.time(),
            zone=self._zone.id,
            details={"file": checkpoint.path},
        )
        self._context.store.add_event(event)
        self._context.checkpoints.set_aside(checkpoint)

    @property
    def _resting(self) -> Folders:
        assert self._context.resting is not None, "zones rest only if memory is limited"
        return self._context.resting

    @property
    def _path(self) -> str:
        return hashlib.sha256(self._zone.id.encode()).hexdigest()[:32]


@dataclass(frozen=True)
class _RestedState:
    """A state that rests in a folder."""

    position: int
    folder: Path

    def save(self, folder: Path) -> None:
        """Copy it."""
        shutil.copytree(self.folder, folder, copy_function=_copy_durably, dirs_exist_ok=True)


def _copy_durably(source: str, target: str) -> None:
    """Copy a file, and wait until its bytes are on the disk."""
    shutil.copyfile(source, target)
    with Path(target).open("rb") as file:
        os.fsync(file.fileno())


def first_line(error: Exception) -> str:
    """The first line of an error's text, shortened."""
    return (str(error).splitlines() or [""])[0][:500]
