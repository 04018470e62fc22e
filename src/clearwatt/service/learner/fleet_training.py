"""Training of fleet priors from all entities of a service, in the background."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from types import TracebackType

from clearwatt.adaptive import train_prior
from clearwatt.clock import SECONDS_PER_DAY, steps_per_day
from clearwatt.compute import Worker, WorkSpec
from clearwatt.errors import DataError
from clearwatt.service.learner.fleet_samples import find_groups, read_samples
from clearwatt.service.priors import add_prior
from clearwatt.service.records import PriorVersion, ServiceEvent
from clearwatt.service.regular_work import RegularWork
from clearwatt.service.store import Store, open_store
from clearwatt.service.times import text

DAYS = 7.0
"""Days between two trainings."""
CHECK = 600.0
"""Most seconds between two checks whether a training is due."""
NICENESS = 15
"""Lower priority than any other training."""
ACTOR = "system"

_LOG = logging.getLogger(__name__)


class FleetTraining(RegularWork):
    """Trains priors of a service in a process of its own, whenever the last ones are old.

    Args:
        store: The store of the service.
        database: Its address, for the process that trains.
        days: Days between two trainings.
        clock: The time, in seconds since 1970.
    """

    thread_name = "fleet-training"
    complaint = "no prior trained"

    def __init__(
        self,
        store: Store,
        database: str,
        *,
        days: float = DAYS,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._period = days * SECONDS_PER_DAY
        super().__init__(min(CHECK, self._period))
        self._store, self._database, self._clock = store, database, clock
        self._not_before = 0.0
        self._lock = threading.Lock()  # a process must not be started while it is stopped
        self._worker: Worker | None = None

    def run_round(self) -> None:
        """Train if it is due."""
        now = self._clock()
        if now < self._not_before or not self._is_due(now):
            return
        if any(group.can_train for group in find_groups(self._store)):
            self._not_before = now + self._period / DAYS  # if the training fails
            for content in self._train(now):
                stored = add_prior(
                    self._store, content, origin="trained", actor=ACTOR, at=self._clock()
                )
                self._record(stored.version, stored.prior.source)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Start no further round, and give up the one in progress."""
        super().__exit__(kind, error, trace)
        with self._lock:
            if self._worker is not None:
                self._worker.kill()

    def _is_due(self, now: float) -> bool:
        trained = [each.at for each in self._store.priors() if each.origin == "trained"]
        return not trained or now - max(trained) >= self._period

    def _train(self, now: float) -> list[bytes]:
        with self._lock:
            if self._stopped.is_set():
                return []
            self._worker = worker = Worker()
        try:
            worker.begin(0, self._database, WorkSpec(train_priors, text(int(now))))
            _, outcome = worker.finish()
        finally:
            with self._lock:
                worker.end()
                self._worker = None
        if outcome is None:
            if not self._stopped.is_set():
                _LOG.warning("the training of priors was killed; it is repeated later")
            return []
        if outcome.error is not None:
            raise outcome.error
        found: list[bytes] = outcome.value
        return found

    def _record(self, version: PriorVersion, source: str) -> None:
        message = f"prior {version.number} was trained on {source}; new entities start from it"
        self._store.add_event(
            ServiceEvent(
                f"prior:{version.digest}",
                "prior",
                message,
                self._clock(),
                details={"digest": version.digest, "number": version.number},
            )
        )


def train_priors(trained: str, database: str) -> list[bytes]:
    """Train a prior for each group of zones of a service; the content of each.

    Args:
        trained: When, for a person to read.
        database: Address of the service's store.
    """
    os.nice(max(0, NICENESS - os.nice(0)))
    contents = []
    with closing(open_store(database)) as store:
        for group in find_groups(store):
            if not group.can_train:
                continue
            zones = read_samples(store, group)
            try:
                prior = train_prior(
                    zones,
                    day=steps_per_day(timedelta(seconds=group.step)),
                    source=f"{sum(len(zone.kinds) for zone in zones)} entities of a service",
                    trained=trained,
                )
            except DataError as error:
                _LOG.warning("no prior trained", extra={"reason": str(error)})
                continue
            contents.append(prior.to_bytes())
    return contents
