"""Keeps the memory of a learner below a limit: zones without work rest on disk."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Protocol

from clearwatt.service.resources import release_memory

TURN = 5.0
"""Seconds that a zone with a backlog may work while others wait for its place in memory."""

_PAGE = os.sysconf("SC_PAGE_SIZE")


class MovableZone(Protocol):
    """A zone whose state may be put aside; see `clearwatt.service.learner.zone_learner`."""

    @property
    def may_rest(self) -> bool:
        """Whether no step of the zone is in progress."""

    def rest(self) -> None:
        """Put the state aside; it stays in memory if it cannot be written."""


def resident_bytes() -> int:
    """Memory of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * _PAGE


class MemoryLimit:
    """Decides which zones are in memory.

    Args:
        limit: Bytes that the process may have; one zone is in memory even so.
        used: Returns the bytes that it has.
        release: Returns freed memory to the system.
    """

    def __init__(
        self,
        limit: int,
        *,
        used: Callable[[], int] = resident_bytes,
        release: Callable[[], None] = release_memory,
    ) -> None:
        self._limit, self._used, self._release = limit, used, release
        self._worked: dict[MovableZone, tuple[float, float]] = {}

    def note_work(self, zone: MovableZone) -> None:
        """Note that a zone in memory has just worked."""
        now = time.monotonic()
        since, _ = self._worked.get(zone, (now, now))
        self._worked[zone] = since, now

    def forget(self, zone: MovableZone) -> None:
        """Note that a zone is not in memory any more."""
        self._worked.pop(zone, None)

    def make_room(self, is_behind: Callable[[MovableZone], bool]) -> bool:
        """Let zones rest until there is room for another; whether there is.

        Zones that have applied all their entries rest first, the one that worked longest ago
        before the others; then those that have had their turn.
        """
        while self._worked and self._used() > self._limit:
            zone = self._choose(is_behind)
            if zone is None:
                return False
            zone.rest()
            if zone.may_rest:  # it cannot be written now: another one may be, the next time
                self.note_work(zone)
                return False
            self.forget(zone)
            self._release()
        return True

    def _choose(self, is_behind: Callable[[MovableZone], bool]) -> MovableZone | None:
        now = time.monotonic()
        movable = [(zone, *times) for zone, times in self._worked.items() if zone.may_rest]
        idle = [each for each in movable if not is_behind(each[0])]
        had_turn = [each for each in movable if now - each[1] >= TURN]
        return _worked_longest_ago(idle) or _worked_longest_ago(had_turn)


def _worked_longest_ago(zones: Iterable[tuple[MovableZone, float, float]]) -> MovableZone | None:
    return min(zones, key=lambda each: each[2], default=(None,))[0]
