"""Intake of a feed: takes what the broker sends, stores it in the spool, then acknowledges it."""

from __future__ import annotations

import queue
import sqlite3
import threading
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

from clearwatt.feeds.spool import Arrival, Spool
from clearwatt.feeds.stopping import FeedStoppedError, StopRequest

T = TypeVar("T")

MOST_AT_ONCE = 2_000
"""Messages of one transaction."""
MOST_UNACKNOWLEDGED = 100_000
"""Messages in memory above which those without acknowledgement (QoS 0) are dropped."""
SPOOL_LIMIT = 5_000_000
"""Messages in the spool above which the intake waits, so that the broker keeps the others."""
_FULL_PAUSE = 1.0
_IDLE_SECONDS = 0.2


class Connected(NamedTuple):
    """The broker has accepted a connection, with or without the session of the last one."""

    filters: Sequence[str]
    session_present: bool


Notify = Callable[[str], None]
Acknowledge = Callable[[int, int], None]
"""Acknowledges a packet of a connection; packets of earlier connections are left alone."""


class Intake(threading.Thread):
    """A thread between the broker's callbacks and the spool.

    Callbacks must not wait for the disk, and one transaction stores many messages.
    """

    def __init__(
        self,
        spool: Spool,
        *,
        acknowledge: Acknowledge,
        stop: StopRequest,
        notify: Notify,
        limit: int = SPOOL_LIMIT,
    ) -> None:
        super().__init__(name="feed-intake", daemon=True)
        self._spool, self._acknowledge, self._stop_request = spool, acknowledge, stop
        self._notify, self._limit = notify, limit
        self._queue: queue.SimpleQueue[Arrival | Connected] = queue.SimpleQueue()
        self._connection = 0
        self.received, self.repeated, self.dropped = 0, 0, 0

    def put(self, item: Arrival | Connected) -> None:
        """Hand over what the broker has sent; never waits."""
        if (
            isinstance(item, Arrival)
            and item.packet is None
            and self._queue.qsize() > MOST_UNACKNOWLEDGED
        ):
            self.dropped += 1
            return
        self._queue.put(item)

    def run(self) -> None:
        """Store and acknowledge until the feed stops; what is left the broker sends again."""
        try:
            while not self._stop_request.is_set():
                self._wait_for_room()
                self._take()
        except FeedStoppedError:
            pass

    def _take(self) -> None:
        """Store one transaction of messages, all of one connection."""
        arrivals: list[Arrival] = []
        connected = None
        try:
            while connected is None and len(arrivals) < MOST_AT_ONCE:
                timeout = None if arrivals else _IDLE_SECONDS
                item = self._queue.get(block=not arrivals, timeout=timeout)
                if isinstance(item, Connected):
                    connected = item
                else:
                    arrivals.append(item)
        except queue.Empty:
            pass
        if arrivals:
            self._store(arrivals)
        if connected is not None:
            present = connected.session_present
            self.retry(
                lambda: self._spool.begin_connection(connected.filters, session_present=present)
            )
            self._connection += 1

    def retry(self, use: Callable[[], T]) -> T:
        """Use the disk of the spool; try again while it is full."""
        while True:
            try:
                return use()
            except (sqlite3.Error, OSError) as error:
                self._notify(f"the state cannot be written ({error}); check the disk; trying again")
                self._stop_request.pause(_FULL_PAUSE)

    def _store(self, arrivals: list[Arrival]) -> None:
        new = self.retry(lambda: self._spool.add(arrivals))
        self.received += new
        self.repeated += len(arrivals) - new
        for arrival in arrivals:
            if arrival.packet is not None:
                self._acknowledge(arrival.packet, self._connection)

    def _wait_for_room(self) -> None:
        while self.retry(self._spool.count) >= self._limit:
            self._notify(f"{self._limit} messages wait for the service; no more are taken")
            self._stop_request.pause(_FULL_PAUSE)
