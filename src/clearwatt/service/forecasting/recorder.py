"""Writes vintages and events of forecasting in the background, after the answer."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from threading import Condition, Thread

from clearwatt.service.records import ServiceEvent, Vintage
from clearwatt.service.store import Store, StoreFullError, StoreUnavailableError

INTERVAL = 1.0
"""Maximum seconds until the vintage of an answer is written."""
CAPACITY = 10_000_000
"""Maximum number of pending steps: about 50 MB."""
HOURLY_STEPS = 4000
"""Steps kept of an entity in an hour: twenty forecasts of two days, about 20 kB."""
LONGEST = 2000
"""Steps kept of one forecast, from its start: three weeks of quarter hours."""
_BATCH = 1000
_EntityKey = tuple[str, int | None]
"""Id and number of an entity; another one may have the id of a deleted one."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class VintageCounts:
    """Number of vintages written, pending, and lost because the store did not accept them.

    ``skipped`` were not kept, because more were asked for than are kept of an entity.
    """

    written: int = 0
    waiting: int = 0
    lost: int = 0
    skipped: int = 0


@dataclass(slots=True)
class _Allowance:
    """Steps of an entity that may still be kept, as of a time."""

    steps: float
    at: float

    def take(self, steps: int, at: float) -> bool:
        """Take steps; False if there are not as many."""
        hours = max(0.0, at - self.at) / 3600
        self.steps, self.at = min(HOURLY_STEPS, self.steps + hours * HOURLY_STEPS), at
        if steps > self.steps:
            return False
        self.steps -= steps
        return True


class Recorder:
    """Writes in a thread of its own, so that no forecast waits for the disk.

    Failed writes are repeated; beyond the capacity, further vintages are counted as lost. Equal
    consecutive answers are one vintage. Of an entity, `HOURLY_STEPS` are kept at most, so that
    callers who may only read cannot fill the disk.
    """

    def __init__(
        self, store: Store, *, interval: float = INTERVAL, capacity: int = CAPACITY
    ) -> None:
        self._store, self._interval, self._capacity = store, interval, capacity
        self._vintages: deque[Vintage] = deque()
        self._events: deque[ServiceEvent] = deque()
        self._last: dict[_EntityKey, bytes] = {}
        self._allowances: dict[_EntityKey, _Allowance] = {}
        self._steps = self._written = self._lost = self._skipped = 0
        self._closing = self._failing = False
        self._changed = Condition()
        self._thread = Thread(target=self._run, name="recorder", daemon=True)
        self._thread.start()

    def record(self, vintages: Sequence[Vintage]) -> None:
        """Queue forecasts; returns at once and never raises."""
        with self._changed:
            for vintage in vintages:
                self._take(vintage)
            self._changed.notify()

    def queue_event(self, event: ServiceEvent) -> None:
        """Queue an event; returns at once."""
        with self._changed:
            self._events.append(event)
            self._changed.notify()

    @property
    def counts(self) -> VintageCounts:
        """Number of vintages written, pending and lost so far."""
        with self._changed:
            return VintageCounts(self._written, len(self._vintages), self._lost, self._skipped)

    def close(self) -> None:
        """Write pending records once more and end; those that fail are lost."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._thread.join()

    def _take(self, vintage: Vintage) -> None:
        vintage = replace(
            vintage, values=vintage.values[:LONGEST], sources=vintage.sources[:LONGEST]
        )
        mark, key = _digest(vintage), (vintage.entity, vintage.number)
        if self._last.get(key) == mark:
            return
        if self._closing or self._steps + len(vintage.values) > self._capacity:
            self._lost += 1
            return
        issued = vintage.issued_at
        left = self._allowances.setdefault(key, _Allowance(HOURLY_STEPS, issued))
        if not left.take(len(vintage.values), issued):
            self._skipped += 1
            return
        self._last[key] = mark
        self._vintages.append(vintage)
        self._steps += len(vintage.values)

    def _run(self) -> None:
        closing = False
        while not closing:
            with self._changed:
                self._changed.wait_for(self._has_work)
                # Wait a little longer, to write more in one transaction.
                closing = self._changed.wait_for(lambda: self._closing, self._interval / 2)
            self._flush()
        self._drop()

    def _has_work(self) -> bool:
        return bool(self._closing or self._vintages or self._events)

    def _flush(self) -> None:
        try:
            while self._write_some():
                self._failing = False
        except (StoreFullError, StoreUnavailableError) as error:
            if not self._failing:
                _log.warning("vintages wait for the store", extra={"reason": str(error)})
            self._failing = True
        except Exception:
            # Records that the store rejects must not block later ones.
            _log.exception("vintages not written")
            self._drop()

    def _drop(self) -> None:
        with self._changed:
            self._lost += len(self._vintages)
            self._vintages.clear()
            self._events.clear()
            self._steps = 0

    def _write_some(self) -> bool:
        """Write a batch; only this thread removes from the queues, so it stays at their head."""
        with self._changed:
            events = list(self._events)
            vintages = [self._vintages[i] for i in range(min(_BATCH, len(self._vintages)))]
        for event in events:
            self._store.add_event(event)
            with self._changed:
                self._events.popleft()
        if vintages:
            self._store.add_vintages(vintages)
        with self._changed:
            for _ in vintages:
                self._steps -= len(self._vintages.popleft().values)
            self._written += len(vintages)
        return bool(vintages)


def _digest(vintage: Vintage) -> bytes:
    """Digest of an answer without its issue time."""
    identity = (
        vintage.encoder,
        vintage.predictor,
        vintage.weather_issued_at,
        vintage.start,
        vintage.step,
    )
    content = repr(identity).encode() + vintage.values.tobytes() + vintage.sources.tobytes()
    return blake2b(content, digest_size=16).digest()
