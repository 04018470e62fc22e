"""How much of its journal a zone takes at once, and when it may go on."""

from __future__ import annotations

import time

import numpy as np

from clearwatt.service.records import Entry
from clearwatt.service.store.base import Store

MOST_ENTRIES = 2_000
MOST_READINGS = 50_000
"""What is folded at once, so that zones take turns and updates show soon."""

PAUSE = 0.2
"""Seconds between two folds of a zone that keeps up: each costs a commit, however little it is."""

FIRST_WAIT, LONGEST_WAIT = 1.0, 60.0
"""Seconds before what failed is tried again: more each time."""

_PAGE = 100


class Pace:
    """Full steps while all goes well; shorter ones, and later, after something went wrong."""

    def __init__(self) -> None:
        self.not_before = 0.0
        self._most = MOST_ENTRIES
        self._taken = 0
        self._full = False
        self._failures = 0

    @property
    def careful(self) -> bool:
        """Whether a fold failed not long ago."""
        return self._most < MOST_ENTRIES

    def take(self, store: Store, zone: str, *, after: int) -> list[Entry]:
        """The next entries of a zone, as many as may be folded at once."""
        entries: list[Entry] = []
        readings = 0
        while len(entries) < self._most and readings < MOST_READINGS:
            last = entries[-1].seq if entries else after
            limit = min(_PAGE, self._most - len(entries))
            page = store.journal(zone, after=last, limit=limit)
            for entry in page:
                entries.append(entry)
                readings += len(entry.content) if isinstance(entry.content, np.ndarray) else 1
                if readings >= MOST_READINGS:
                    break
            if len(page) < limit:
                break
        self._taken = len(entries)
        self._full = len(entries) >= self._most or readings >= MOST_READINGS
        return entries

    def succeed(self) -> None:
        """Go on: at once if there was more than could be taken."""
        self._failures = 0
        self._most = min(2 * self._most, MOST_ENTRIES)
        self.not_before = time.monotonic() + (0 if self._full else PAUSE)

    def fail(self) -> None:
        """Wait before the next attempt, longer each time."""
        wait = min(FIRST_WAIT * 2 ** min(self._failures, 16), LONGEST_WAIT)
        self._failures += 1
        self.not_before = time.monotonic() + wait

    def doubt(self) -> None:
        """Take half as much, until what cannot be folded is alone."""
        self._most = max(1, min(self._most, self._taken) // 2)
