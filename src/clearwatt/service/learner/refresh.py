"""Refreshes the forecasts of a zone with readings that are not learned from yet."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable
from typing import Protocol

_LOG = logging.getLogger(__name__)


class Refreshable(Protocol):
    """Whatever knows the newest readings of a zone."""

    @property
    def position(self) -> int:
        """The number of the last journal entry applied."""

    @property
    def refresh_interval(self) -> float:
        """Least seconds between two refreshes."""

    def find_latest(self) -> bytes | None:
        """What readings that are not learned from yet change in forecasts; None: nothing."""


class Refresh:
    """Soon after something has arrived, but never more often than told.

    While there is a backlog, its end is awaited, for as long as the shortest interval.

    Args:
        zone: The zone.
        send: Called with the zone and what its newest readings change in its forecasts.
    """

    def __init__(self, zone: str, send: Callable[[str, bytes], None]) -> None:
        self._zone, self._send = zone, send
        self._requested = math.inf
        self._last = -math.inf

    def request(self) -> None:
        """Something has arrived."""
        self._requested = min(self._requested, time.monotonic())

    def next_due(self, learning: Refreshable, head: int) -> float:
        """When the next refresh is due, by `time.monotonic`; infinity: none is.

        Args:
            learning: Of the zone.
            head: Number of the last journal entry.
        """
        interval, behind = learning.refresh_interval, learning.position < head
        since = self._requested + interval if behind else self._requested
        return max(since, self._last + interval)

    def run_pending(self, learning: Refreshable) -> None:
        """Refresh at once if something has arrived, however long the last refresh ago."""
        if self._requested < math.inf:
            self.run(learning)

    def run(self, learning: Refreshable) -> None:
        """Send what the newest readings change; a failure leaves the forecasts as they are."""
        try:
            latest = learning.find_latest()
        except Exception as error:
            _LOG.error("forecasts not refreshed", extra={"zone": self._zone}, exc_info=error)
        else:
            if latest is not None:
                self._send(self._zone, latest)
        self._requested, self._last = math.inf, time.monotonic()
