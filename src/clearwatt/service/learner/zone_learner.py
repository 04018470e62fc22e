"""The learner of one zone: load, apply, train, commit, checkpoint; one step at a time.

The process may be killed at any moment. Entries that were not committed are applied again from the
last checkpoint, with the same outcome.
"""

from __future__ import annotations

import hashlib
import logging
import math
import time
from concurrent.futures import Future
from dataclasses import replace
from itertools import takewhile

from clearwatt.errors import ClearwattError
from clearwatt.service.learner.context import LearnerContext, Learning
from clearwatt.service.learner.pace import Pace
from clearwatt.service.learner.refresh import Refresh
from clearwatt.service.learner.removal import remove_model_files
from clearwatt.service.learner.updater import TrainingLostError, UpdaterClosedError
from clearwatt.service.learner.upkeep import Upkeep
from clearwatt.service.learner.zone_states import ZoneStates, first_line
from clearwatt.service.records import Command, Entry, Outcome, ServiceEvent, Zone
from clearwatt.service.status import ZoneStatus
from clearwatt.service.store import (
    LeaseLostError,
    StoreDamagedError,
    StoreFullError,
    StoreUnavailableError,
    UnregisteredZoneError,
)
from clearwatt.training.fleet import Job, Trained
from clearwatt.training.streams import Stream, TrainingResults

CROWD = 2
"""Number of waiting trainings from which on no further zone begins its warm-up. This limits memory
when the warm-up of many zones is requested at once."""

_LOG = logging.getLogger(__name__)


class ZoneLearner:
    """A zone, its progress, and the training it waits for.

    Args:
        zone: The zone.
        context: What all zones share.
        fence: Fencing number of its lease, in a cluster.
        committed: Number of the last entry that was applied and committed before, if the state need
            not be in memory until there is a later one.
    """

    def __init__(
        self,
        zone: Zone,
        context: LearnerContext,
        *,
        fence: int | None = None,
        committed: int | None = None,
    ) -> None:
        self.zone, self.context, self.fence = zone, context, fence
        self._committed = committed
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
        self._states = ZoneStates(zone, context, self._upkeep)

    @property
    def position(self) -> int:
        """The number of the last entry applied."""
        if self._learning is not None:
            return self._learning.position
        return max(self._states.rested or 0, self._committed or 0)

    @property
    def in_memory(self) -> bool:
        """Whether the zone's state is in memory."""
        return self._learning is not None

    @property
    def may_rest(self) -> bool:
        """Whether the zone's state can be put aside, because no step of it is in progress."""
        return self._learning is not None and self._stream is None and self._outcome is None

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
        for known in (self._states.rested, self._committed):
            if known is not None and known >= head:
                return math.inf  # nothing to do until the journal grows
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
            self._lose("zone lost to another node")
        except UnregisteredZoneError:
            self._lose("zone deleted while it was learned")
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
        self._states.finish()

    def drop_rested(self) -> None:
        """Delete the state if it rests, because this process does not need it any more."""
        self._states.drop()

    def rest(self) -> None:
        """Put the state aside until the journal grows; call it only if `may_rest`.

        If it cannot be written, it stays in memory.
        """
        assert self._learning is not None
        try:
            self._refresh.run_pending(self._learning)
            self._states.rest(self._learning)
        except (StoreFullError, StoreUnavailableError) as error:
            self.context.outages.record(error)
        except Exception as error:
            _LOG.error("zone not put aside", extra={"zone": self.zone.id}, exc_info=error)
        else:
            self._learning = self._status = None

    def _step(self, head: int) -> None:
        if self._outcome is not None:
            self._commit(self._outcome, head=head)
        elif self._learning is None:
            self._status = self.context.store.status(self.zone.id)
            self._learning, self._committed = self._states.load(head), None
            self._refresh.request()
        elif self._stream is not None:
            self._advance(self._stream, self._training_result(), head=head)
        elif self._refresh.next_due(self._learning, head) <= time.monotonic():
            self._refresh.run(self._learning)
        elif self._upkeep.due or self._learning.position >= head:
            self._upkeep.checkpoint(self._learning)
        else:
            self._begin(self._learning, head)

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
            results = training.result()
            self._upkeep.note_training(sum(each.seconds for each in results))
            return results
        except (UpdaterClosedError, TrainingLostError):
            self._forget()
            raise
        except Exception as error:
            self._record_failed_training(error)
            return [_failed_training(job) for job in jobs]

    def _record_failed_training(self, error: Exception) -> None:
        _LOG.error("training given up", extra={"zone": self.zone.id}, exc_info=error)
        self._upkeep.due = True  # repeated after a crash, it might succeed, and the state differ
        event = self._event(
            f"training failed:{self.zone.id}:{self.position}:{_digest(error)}",
            "training failed",
            f"a training of {self.zone.id} was given up: {first_line(error)}; the models in "
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

    def _lose(self, reason: str) -> None:
        """Drop the zone, which is not this node's any more; nothing of it was written here."""
        _LOG.warning(reason, extra={"zone": self.zone.id})
        self._forget()
        self.is_lost = True

    def _degrade(self, error: Exception) -> None:
        """Record the error; try again later with fewer entries."""
        _LOG.error("zone degraded", extra={"zone": self.zone.id}, exc_info=error)
        self._forget()
        self._pace.fail()
        self._pace.halve()
        before = self._status
        if before is None:  # it could not be read, and must not be replaced by an empty one
            if isinstance(error, ClearwattError):
                self.context.outages.record(error)
            return
        message = f"{type(error).__name__}: {first_line(error)}"
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
            self._lose("zone lost to another node")
        except UnregisteredZoneError:
            self._lose("zone deleted while it was learned")
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


def _digest(error: Exception) -> str:
    """A short hash, so that the same error is recorded once."""
    return hashlib.sha256(f"{type(error).__name__}:{error}".encode()).hexdigest()[:12]
