"""Rate of arrivals over the last minute."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from threading import Lock

SPAN = 60
"""Seconds over which the rate is computed."""


class Rate:
    """Arrivals per second, counted over the last `SPAN` seconds."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._lock = clock, Lock()
        self._begun = clock()
        self._counts: deque[tuple[int, int]] = deque()

    def add(self, count: int) -> None:
        """Count arrivals at the current time."""
        now = int(self._clock())
        with self._lock:
            if self._counts and self._counts[-1][0] == now:
                count += self._counts.pop()[1]
            self._counts.append((now, count))
            self._forget(now)

    @property
    def per_second(self) -> float:
        """The mean over the last minute, or since the start if that is shorter."""
        now = self._clock()
        with self._lock:
            self._forget(int(now))
            total = sum(count for _, count in self._counts)
        return total / min(float(SPAN), max(1.0, now - self._begun))

    def _forget(self, now: int) -> None:
        while self._counts and self._counts[0][0] <= now - SPAN:
            self._counts.popleft()
