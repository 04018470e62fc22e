"""The number of journal entries a zone applies at once, and the pause between two batches."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

from clearwatt.service.records import Entry
from clearwatt.service.store import Store

MOST_ENTRIES = 2_000
MOST_READINGS = 50_000
"""Upper limits of a batch, so that zones take turns."""

FIRST_ENTRIES = 8
SHORT = 2.0
"""Target duration of a batch in seconds, its trainings included."""

PAUSE = 0.2
"""Seconds between two batches of a zone without backlog; each batch costs a commit."""

FIRST_WAIT, LONGEST_WAIT = 1.0, 60.0
"""Seconds before a retry; doubled with each failure."""

_PAGE = 100


class Pace:
    """Batch size and earliest start: grows while batches are fast, shrinks after a failure."""

    def __init__(self) -> None:
        self.not_before = 0.0
        self._most = FIRST_ENTRIES
        self._reduced: int | None = None
        self._taken, self._full, self._began = 0, False, 0.0
        self._failures = 0

    @property
    def is_reduced(self) -> bool:
        """Whether a batch failed recently."""
        return self._reduced is not None

    def take(self, store: Store, zone: str, *, after: int) -> list[Entry]:
        """The next batch of a zone's entries."""
        most = self._most if self._reduced is None else min(self._most, self._reduced)
        entries: list[Entry] = []
        readings = 0
        for entry in _entries(store, zone, after=after, most=most):
            entries.append(entry)
            readings += len(entry.content) if isinstance(entry.content, np.ndarray) else 1
            if readings >= MOST_READINGS:
                break
        self._taken, self._began = len(entries), time.monotonic()
        self._full = len(entries) == most or readings >= MOST_READINGS
        return entries

    def succeed(self) -> None:
        """Note a success; the next batch may start at once if this one was full."""
        now = time.monotonic()
        self._failures = 0
        self._adapt(now - self._began)
        self.not_before = now + (0 if self._full else PAUSE)

    def fail(self) -> None:
        """Note a failure; the wait doubles with each."""
        wait = min(FIRST_WAIT * 2 ** min(self._failures, 16), LONGEST_WAIT)
        self._failures += 1
        self.not_before = time.monotonic() + wait

    def postpone(self) -> None:
        """Wait without a failure, for other zones' trainings."""
        self.not_before = time.monotonic() + FIRST_WAIT

    def halve(self) -> None:
        """Halve the batch, so that in the end an entry that fails is alone in it."""
        self._reduced = max(1, self._taken // 2)

    def _adapt(self, seconds: float) -> None:
        if seconds > SHORT:
            self._most = max(1, int(self._taken * SHORT / seconds))
        elif self._full:
            self._most = min(2 * self._most, MOST_ENTRIES)
        if self._reduced is not None:
            self._reduced = 2 * self._reduced if self._reduced < MOST_ENTRIES else None


def _entries(store: Store, zone: str, *, after: int, most: int) -> Iterator[Entry]:
    """Up to ``most`` entries, read lazily because each may hold many readings."""
    left = most
    while page := store.journal(zone, after=after, limit=min(_PAGE, left)) if left else []:
        yield from page
        after, left = page[-1].seq, left - len(page)
