"""Long stretches of signals as they were last read, for as long as nothing has changed."""

from __future__ import annotations

from dataclasses import dataclass
from threading import Lock

from clearwatt.service.records import Entity
from clearwatt.service.store import Store
from clearwatt.service.views.signals import Signals, signals_of

MOST_ROWS = 500_000
"""Rows kept of all entities together, at 40 bytes each."""
WORTH_KEEPING = 5000
"""Rows; fewer are read again as fast."""

Mark = tuple[int, int, int]


@dataclass(frozen=True, slots=True, eq=False)
class _Kept:
    """Signals with start <= time < end, as they were when the zone had this mark."""

    mark: Mark
    start: int
    end: int
    signals: Signals

    def answers(self, mark: Mark, start: int, end: int) -> bool:
        return self.mark == mark and self.start <= start and end <= self.end


class SignalCache:
    """Reads signals and remembers long ones: whoever looks at a life zooms into it next.

    All that signals follow from is written with the journal (readings) or with a status (verdicts,
    forecasts), so that the numbers of both say whether anything is new.
    """

    def __init__(self, store: Store, *, most_rows: int = MOST_ROWS) -> None:
        self._store, self._most_rows = store, most_rows
        self._lock = Lock()
        self._kept: dict[int, _Kept] = {}

    def signals(self, entity: Entity, *, start: int, end: int) -> Signals:
        """Everything known about an entity with start <= time < end."""
        mark = self._mark(entity.zone)  # before reading: what changes meanwhile is read again
        with self._lock:
            kept = self._kept.get(entity.number)
        if kept is not None and kept.answers(mark, start, end):
            return kept.signals.within(start, end)
        found = signals_of(self._store, entity, start=start, end=end)
        if WORTH_KEEPING <= len(found.times) <= self._most_rows:
            self._keep(entity.number, _Kept(mark, start, end, found))
        return found

    def _mark(self, zone: str) -> Mark:
        status = self._store.status(zone)
        head = self._store.heads().get(zone, 0)
        return head, status.position, status.generation

    def _keep(self, number: int, kept: _Kept) -> None:
        with self._lock:
            self._kept.pop(number, None)
            self._kept[number] = kept
            while sum(len(each.signals.times) for each in self._kept.values()) > self._most_rows:
                del self._kept[next(iter(self._kept))]
