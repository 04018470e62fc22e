"""How much of its journal a zone takes at once, and when it may go on."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

from clearwatt.service.records import Entry
from clearwatt.service.store import Store

MOST_ENTRIES = 2_000
MOST_READINGS = 50_000
"""What is folded at once at most, so that zones take turns."""

FIRST_ENTRIES = 8
SHORT = 2.0
"""Seconds a fold should take, its trainings included: only what is committed shows and lasts."""

PAUSE = 0.2
"""Seconds between two folds of a zone that keeps up: each costs a commit, however little it is."""

FIRST_WAIT, LONGEST_WAIT = 1.0, 60.0
"""Seconds before what failed is tried again: more each time."""

_PAGE = 100


class Pace:
    """Steps as long as they are quick; shorter ones, and later, after something went wrong."""

    def __init__(self) -> None:
        self.not_before = 0.0
        self._most = FIRST_ENTRIES
        self._doubted: int | None = None
        self._taken, self._full, self._began = 0, False, 0.0
        self._failures = 0

    @property
    def careful(self) -> bool:
        """Whether a fold failed not long ago."""
        return self._doubted is not None

    def take(self, store: Store, zone: str, *, after: int) -> list[Entry]:
        """The next entries of a zone, as many as may be folded at once."""
        most = self._most if self._doubted is None else min(self._most, self._doubted)
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
        """Go on: at once if there was more than could be taken."""
        now = time.monotonic()
        self._failures = 0
        self._adapt(now - self._began)
        self.not_before = now + (0 if self._full else PAUSE)

    def fail(self) -> None:
        """Wait before the next attempt, longer each time."""
        wait = min(FIRST_WAIT * 2 ** min(self._failures, 16), LONGEST_WAIT)
        self._failures += 1
        self.not_before = time.monotonic() + wait

    def postpone(self) -> None:
        """Wait for others; nothing went wrong."""
        self.not_before = time.monotonic() + FIRST_WAIT

    def doubt(self) -> None:
        """Take half as much, until what cannot be folded is alone."""
        self._doubted = max(1, self._taken // 2)

    def _adapt(self, seconds: float) -> None:
        if seconds > SHORT:
            self._most = max(1, int(self._taken * SHORT / seconds))
        elif self._full:
            self._most = min(2 * self._most, MOST_ENTRIES)
        if self._doubted is not None:
            self._doubted = 2 * self._doubted if self._doubted < MOST_ENTRIES else None


def _entries(store: Store, zone: str, *, after: int, most: int) -> Iterator[Entry]:
    """Up to so many entries, read as they are asked for: each may hold many readings."""
    left = most
    while page := store.journal(zone, after=after, limit=min(_PAGE, left)) if left else []:
        yield from page
        after, left = page[-1].seq, left - len(page)
