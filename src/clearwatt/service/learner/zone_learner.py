"""The learner of one zone: load, apply, train, commit, checkpoint; one step at a time.

The process may be killed at any moment. Entries that were not committed are applied again from the
last checkpoint, with the same outcome.
"""

from __future__ import annotations

import hashlib
import logging
import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path
from typing import Protocol

from clearwatt.errors import StateError
from clearwatt.service.files import Checkpoints, ModelFiles, ZoneCheckpoint
from clearwatt.service.learner.leases import ZoneLeases
from clearwatt.service.learner.outages import Outages
from clearwatt.service.learner.pace import Pace
from clearwatt.service.learner.refresh import Refresh
from clearwatt.service.learner.removal import remove_model_files
from clearwatt.service.learner.updater import TrainingLostError, UpdaterClosedError
from clearwatt.service.learner.upkeep import Upkeep
from clearwatt.service.records import Command, Entry, Outcome, RegisteredEntity, ServiceEvent, Zone
from clearwatt.service.status import ZoneStatus
from clearwatt.service.store import (
    LeaseLostError,
    Store,
    StoreDamagedError,
    StoreFullError,
    StoreUnavailableError,
)
from clearwatt.training.fleet import Job, Trained
from clearwatt.training.streams import Stream, TrainingResults

CROWD = 2
"""Number of waiting trainings from which on no further zone begins its warm-up. This limits memory
when the warm-up of many zones is requested at once."""

DAMAGE = (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)
"""Errors of loading a damaged checkpoint, StateError among them; those of store and disk pass."""

_LOG = logging.getLogger(__name__)


class Learning(Protocol):
    """Applies a zone's journal; see `learner.apply.zone_learning.ZoneLearning`."""

    @property
    def position(self) -> int:
        """The number of the last entry applied."""

    @property
    def due_checkpoint(self) -> bool:
        """Whether applying the entries since the last checkpoint again would take long."""

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


class ZoneLearner:
    """A zone, its progress, and the training it waits for.

    Args:
        zone: The zone.
        context: What all zones share.
        fence: Fencing number of its lease, in a cluster.
    """

    def __init__(self, zone: Zone, context: LearnerContext, *, fence: int | None = None) -> None:
        self.zone, self.context, self.fence = zone, context, fence
        self.is_lost = False
        self._learning: Learning | None = None
        self._stream: Stream[Outcome] | None = None
        self._jobs: tuple[Job, ...] = ()
        self._training: Future[TrainingResults] | None = None
        self._outcome: Outcome | None = None
        self._status: ZoneStatus | None = None
        self._complaint: str | None = None
        self._has_removed = False
        self._pace, self._refresh = Pace(), Refresh(zone.id, context.refresh)
        self._upkeep = Upkeep(zone.id, context.store, context.files, context.checkpoints)

    @property
    def position(self) -> int:
        """The number of the last entry applied."""
        return 0 if self._learning is None else self._learning.position

    @property
    def training(self) -> bool:
        """Whether the zone waits for a training."""
        return self._training is not None

    @property
    def error(self) -> str | None:
        """Why learning fails; None: it does not."""
        return None if self._status is None else self._status.error

    @property
    def has_removed(self) -> bool:
        """Whether an entity was deleted since the last call."""
        removed, self._has_removed = self._has_removed, False
        return removed

    def next_due(self, head: int) -> float:
        """When the next step is due, by `time.monotonic`; infinity: never."""
        if self.is_lost:
            return math.inf
        if self._training is not None and not self._training.done():
            return math.inf  # the training's end wakes the learner
        if self._learning is None or self._stream is not None or self._outcome is not None:
            return self._pace.not_before
        if self._learning.position < head:
            return self._pace.not_before
        refresh = self._refresh.next_due(self._learning, head)
        checkpoint = self._upkeep.next_checkpoint(self._learning.position)
        return min(refresh, max(self._pace.not_before, checkpoint))

    def run_step(self, head: int) -> None:
        """Run the next step; an error stays within this zone, and the step is tried again later."""
        try:
            self._step(head)
        except (StoreFullError, StoreUnavailableError) as error:
            self._pace.fail()
            self.context.outages.record(error)
        except LeaseLostError:
            self._lose()
        except Exception as error:
            self._degrade(error)

    def finish(self) -> None:
        """Commit and checkpoint before the end of the process; a step in progress is dropped."""
        if self._outcome is not None:
            self._commit(self._outcome, head=self._outcome.status.position)
        if (
            self._learning is not None
            and self._stream is None
            and self._upkeep.has_changes(self.position)
        ):
            self._upkeep.checkpoint(self._learning)

    def _step(self, head: int) -> None:
        if self._outcome is not None:
            self._commit(self._outcome, head=head)
        elif self._learning is None:
            self._learning = self._load_newest(head)
            self._refresh.request()
        elif self._stream is not None:
            self._advance(self._stream, self._training_result(), head=head)
        elif self._refresh.next_due(self._learning, head) <= time.monotonic():
            self._refresh.run(self._learning)
        elif self._upkeep.due or self._learning.position >= head:
            self._upkeep.checkpoint(self._learning)
        else:
            self._begin(self._learning, head)

    def _load_newest(self, head: int) -> Learning:
        """The zone from its newest intact checkpoint, or at its beginning."""
        context, zone = self.context, self.zone
        self._status = context.store.statuses([zone.id]).get(zone.id)
        base = context.store.journal_base(zone.id)
        for checkpoint in context.checkpoints.newest(zone.id):
            if checkpoint.position < base:
                break  # of a deleted zone with this id
            try:
                learning = self._load(checkpoint, head)
            except DAMAGE as error:
                self._set_aside(checkpoint, error)
            else:
                self._upkeep.note_checkpoint(learning.position)
                return learning
        learning = context.learning(zone, store=context.store, files=context.files)
        self._upkeep.note_checkpoint(learning.position)
        return learning

    def _load(self, checkpoint: ZoneCheckpoint, head: int) -> Learning:
        if checkpoint.position > head:
            raise StateError(
                f"it follows entry {checkpoint.position}, but the journal ends with {head}"
            )
        context = self.context
        with context.checkpoints.open(checkpoint) as folder:
            return context.learning.load(
                folder, zone=self.zone, store=context.store, files=context.files
            )

    def _set_aside(self, checkpoint: ZoneCheckpoint, error: Exception) -> None:
        reason = str(error) if isinstance(error, StateError) else _first_line(error)
        _LOG.error("checkpoint set aside", extra={"checkpoint": checkpoint.path}, exc_info=error)
        event = self._event(
            f"damaged:{self.zone.id}:{checkpoint.name}:{time.time_ns()}",
            "damaged",
            f"the checkpoint {checkpoint.name} of {self.zone.id} cannot be used ({reason}); an "
            "earlier state is, and the journal is applied again from there",
        )
        self.context.store.add_event(replace(event, details={"file": checkpoint.path}))
        self.context.checkpoints.set_aside(checkpoint)

    def _begin(self, learning: Learning, head: int) -> None:
        store = self.context.store
        entries = self._pace.take(store, self.zone.id, after=learning.position)
        if self.context.trainer.waiting >= CROWD:
            entries = list(takewhile(lambda entry: not _warms_up(entry), entries))
            if not entries:
                self._pace.postpone()
                return
        # In this order, an entity deleted between the two reads is in both. The entries are older.
        registered = store.entities(self.zone.id)
        removed = store.removed_entities(self.zone.id)
        self._stream = learning.apply(entries, [*removed, *registered])
        self._advance(self._stream, None, head=head)

    def _advance(
        self, stream: Stream[Outcome], trained: TrainingResults | None, *, head: int
    ) -> None:
        try:
            self._jobs = next(stream) if trained is None else stream.send(trained)
        except StopIteration as stop:
            self._stream, self._outcome = None, stop.value
        except BaseException:
            self._forget()
            raise
        if self._outcome is not None:
            self._commit(self._outcome, head=head)
        else:
            self._training = self.context.trainer.submit(self._jobs)
            self._training.add_done_callback(lambda _: self.context.wake())

    def _training_result(self) -> TrainingResults:
        """The trained models; a training that fails leaves the models as they are.

        One whose workers were killed is repeated later: the state depends on the data only.
        """
        training, self._training = self._training, None
        jobs, self._jobs = self._jobs, ()  # a hundred of them are as large as the zone itself
        if training is None:
            raise RuntimeError(f"{self.zone.id} waits for a training that was never begun")
        try:
            return training.result()
        except (UpdaterClosedError, TrainingLostError):
            self._forget()
            raise
        except Exception as error:
            self._record_failed_training(error)
            return [_failed_training(job) for job in jobs]

    def _record_failed_training(self, error: Exception) -> None:
        _LOG.error("training given up", extra={"zone": self.zone.id}, exc_info=error)
        event = self._event(
            f"training failed:{self.zone.id}:{self.position}:{_digest(error)}",
            "training failed",
            f"a training of {self.zone.id} was given up: {_first_line(error)}; the models in "
            "service stay",
        )
        try:
            self.context.store.add_event(event)
        except (StoreFullError, StoreUnavailableError) as trouble:
            self.context.outages.record(trouble)

    def _commit(self, outcome: Outcome, *, head: int) -> None:
        """Commit an outcome, unless it was committed before the process was restarted."""
        if self._is_news(outcome.status, head):
            self.context.store.commit(outcome, fence=self.fence)
            self._status = outcome.status
            self.context.publish(outcome.status)
        if outcome.removed:
            remove_model_files(self.context.store, self.context.files)
            # A replay has written files again that were deleted before it.
            self.context.files.remove_entities([entity.number for entity in outcome.removed])
            self._has_removed = True
        self._outcome = None
        self._refresh.request()
        self._upkeep.record(
            outcome, due=self._learning is not None and self._learning.due_checkpoint
        )
        if self._pace.is_reduced:
            self._upkeep.due = True  # save what succeeded, because the next entries failed before
        else:
            self._complaint = None
        self._pace.succeed()
        self.context.outages.end()

    def _is_news(self, status: ZoneStatus, head: int) -> bool:
        known = self._status
        if known is None or status.position > known.position:
            return True
        # A failing zone that has applied all entries has recovered.
        return self.error is not None and status.position == known.position >= head

    def _forget(self) -> None:
        """Drop the state, which is undefined after an error."""
        self._learning = self._stream = self._training = self._outcome = None

    def _lose(self) -> None:
        """Drop the zone, which another node has taken over; nothing of it was written here."""
        _LOG.warning("zone lost to another node", extra={"zone": self.zone.id})
        self._forget()
        self.is_lost = True

    def _degrade(self, error: Exception) -> None:
        """Record the error; try again later with fewer entries."""
        _LOG.error("zone degraded", extra={"zone": self.zone.id}, exc_info=error)
        self._forget()
        self._pace.fail()
        self._pace.halve()
        before = self._status or ZoneStatus(self.zone.id)
        message = f"{type(error).__name__}: {_first_line(error)}"
        event = self._event(
            f"degraded:{self.zone.id}:{before.position}:{_digest(error)}",
            "degraded",
            f"learning fails in zone {self.zone.id}: {message}; forecasts continue, and learning "
            "is tried again",
        )
        events = () if message == self._complaint else (event,)
        self._complaint = message
        self._commit_status(Outcome(replace(before, error=message), events=events))

    def _commit_status(self, outcome: Outcome) -> None:
        try:
            self.context.store.commit(outcome, fence=self.fence)
        except LeaseLostError:
            self._lose()
        except (StoreFullError, StoreUnavailableError, StoreDamagedError) as trouble:
            self.context.outages.record(trouble)
        except Exception as trouble:
            _LOG.error("status not written", extra={"zone": self.zone.id}, exc_info=trouble)
        else:
            self._status = outcome.status
            self.context.publish(outcome.status)

    def _event(self, key: str, kind: str, message: str) -> ServiceEvent:
        return ServiceEvent(key, kind, message, time.time(), zone=self.zone.id)


def _warms_up(entry: Entry) -> bool:
    return isinstance(entry.content, Command) and entry.content.kind == "warmup"


def _failed_training(job: Job) -> Trained:
    """The result of a failed training: the model stays as it was."""
    return Trained(
        params=job.params,
        epochs=0,
        best_epoch=0,
        training_loss=math.nan,
        validation_rmse=None,
        seconds=0.0,
        diverged=True,
    )


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [""])[0][:500]


def _digest(error: Exception) -> str:
    """A short hash, so that the same error is recorded once."""
    return hashlib.sha256(f"{type(error).__name__}:{error}".encode()).hexdigest()[:12]
