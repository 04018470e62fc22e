"""How fast something comes in, over the last minute."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from threading import Lock

SPAN = 60
"""Seconds that are looked back on."""


class Rate:
    """Counts by the second and forgets what is older than `SPAN`."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._lock = clock, Lock()
        self._begun = clock()
        self._counts: deque[tuple[int, int]] = deque()

    def add(self, count: int) -> None:
        """Note that so many came in now."""
        now = int(self._clock())
        with self._lock:
            if self._counts and self._counts[-1][0] == now:
                count += self._counts.pop()[1]
            self._counts.append((now, count))
            self._forget(now)

    @property
    def per_second(self) -> float:
        """The mean over the last minute, or since there was a first second."""
        now = self._clock()
        with self._lock:
            self._forget(int(now))
            total = sum(count for _, count in self._counts)
        return total / min(float(SPAN), max(1.0, now - self._begun))

    def _forget(self, now: int) -> None:
        while self._counts and self._counts[0][0] <= now - SPAN:
            self._counts.popleft()
