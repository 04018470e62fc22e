"""Cache of long signals, valid until the zone changes."""

from __future__ import annotations

from dataclasses import dataclass
from threading import Lock

from clearwatt.service.records import RegisteredEntity
from clearwatt.service.store import Store
from clearwatt.service.views.signals import Signals, signals_of

MOST_ROWS = 500_000
"""Maximum rows in the cache over all entities, at 40 bytes each."""
LEAST_ROWS = 5000
"""Shorter signals are not cached; they are read again as fast."""

ZoneKey = tuple[int, int, int]
"""Head of the journal, position and generation of the status: changes with the signals."""


@dataclass(frozen=True, slots=True, eq=False)
class _CachedSignals:
    """Signals with start <= time < end, read when the zone had this key."""

    key: ZoneKey
    start: int
    end: int
    signals: Signals

    def covers(self, key: ZoneKey, start: int, end: int) -> bool:
        return self.key == key and self.start <= start and end <= self.end


class SignalCache:
    """Reads signals and caches long ones, because a viewer of the whole life zooms in next.

    Signals depend on the journal (readings) and the status (verdicts, forecasts), so their numbers
    show whether anything has changed.
    """

    def __init__(self, store: Store, *, most_rows: int = MOST_ROWS) -> None:
        self._store, self._most_rows = store, most_rows
        self._lock = Lock()
        self._cached: dict[int, _CachedSignals] = {}

    def signals(self, entity: RegisteredEntity, *, start: int, end: int) -> Signals:
        """Signals of an entity with start <= time < end."""
        key = self._key(entity.zone)  # before reading, so that later changes invalidate it
        with self._lock:
            cached = self._cached.get(entity.number)
        if cached is not None and cached.covers(key, start, end):
            return cached.signals.between(start, end)
        found = signals_of(self._store, entity, start=start, end=end)
        if LEAST_ROWS <= len(found.times) <= self._most_rows:
            self._add(entity.number, _CachedSignals(key, start, end, found))
        return found

    def _key(self, zone: str) -> ZoneKey:
        status = self._store.status(zone)
        head = self._store.heads().get(zone, 0)
        return head, status.position, status.generation

    def _add(self, number: int, signals: _CachedSignals) -> None:
        with self._lock:
            self._cached.pop(number, None)
            self._cached[number] = signals
            while sum(len(each.signals.times) for each in self._cached.values()) > self._most_rows:
                del self._cached[next(iter(self._cached))]
