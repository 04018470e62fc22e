"""Live feed of changed zones and new events for open pages.

One task reads the store for all listeners, and only while there are any.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from dataclasses import dataclass

from anyio import to_thread

from clearwatt.errors import ClearwattError
from clearwatt.service.records import ServiceEvent
from clearwatt.service.store import Store

BEAT = 10.0
"""Seconds without news after which a listener receives an empty message."""
POLL = 2.0
"""Seconds between two reads of the events; not every writer announces them."""
GATHER = 0.2
"""Seconds over which changes are collected, so that a fast replay does not flood listeners."""
MOST_LISTENERS = 200
MOST_WAITING = 100
"""Unread messages per listener; a slower one is disconnected and can resume from the store."""
PAGE = 500

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class News:
    """Zones whose status changed, and events, oldest first; both empty: a heartbeat."""

    zones: tuple[str, ...] = ()
    events: tuple[ServiceEvent, ...] = ()

    def newer_than(self, number: int) -> News:
        """The news without events up to a number."""
        return News(self.zones, tuple(event for event in self.events if event.seq > number))


class Feed:
    """Distributes changes announced by any thread to listeners in one event loop."""

    def __init__(self, store: Store, *, most: int = MOST_LISTENERS) -> None:
        self._store, self._most = store, most
        self._listeners: set[_Listener] = set()
        self._zones: set[str] = set()
        self._lock = threading.Lock()
        self._woken = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None
        self._closed = False

    def announce(self, zone: str) -> None:
        """Announce that a zone was committed; from any thread, without waiting."""
        with self._lock:
            self._zones.add(zone)
        self._call(self._woken.set)

    def close(self) -> None:
        """Disconnect all listeners, from any thread, so that the server can stop."""
        self._closed = True
        self._call(self._end)

    @property
    def is_full(self) -> bool:
        """Whether no further listener is accepted."""
        return self._closed or len(self._listeners) >= self._most

    async def newest(self) -> int | None:
        """Number of the newest event; None if it cannot be read."""
        try:
            return await to_thread.run_sync(self._newest)
        except ClearwattError as error:
            _LOG.warning("log not read", extra={"reason": str(error)})
            return None

    async def listen(self, after: int | None = None) -> AsyncGenerator[News]:
        """News from now on, or after an event's number; empty news as a heartbeat.

        Ends when the feed is closed, full or cannot be read, or the listener is too slow.
        """
        if self.is_full:
            return
        listener = self._add_listener()
        try:
            last = -1
            if after is not None:
                last = min(after, await to_thread.run_sync(self._newest))
                while missed := await to_thread.run_sync(self._events, last):
                    yield News(events=missed)
                    last = missed[-1].seq
            while (news := await listener.next()) is not None:
                yield news.newer_than(last)
        except ClearwattError as error:
            _LOG.warning("log not read", extra={"reason": str(error)})
        finally:
            self._listeners.discard(listener)

    def _add_listener(self) -> _Listener:
        listener = _Listener()
        self._listeners.add(listener)
        self._loop = asyncio.get_running_loop()
        if self._task is None or self._task.done():
            self._task = self._loop.create_task(self._poll())
        return listener

    async def _poll(self) -> None:
        """Read new events and distribute them, as long as there are listeners."""
        last: int | None = None
        while self._listeners and not self._closed:
            try:
                if last is None:
                    last = await to_thread.run_sync(self._newest)
                events = await to_thread.run_sync(self._events, last)
            except ClearwattError as error:
                _LOG.warning("log not read", extra={"reason": str(error)})
                events = ()
            self._send_to_listeners(events)
            last = events[-1].seq if events else last
            with suppress(TimeoutError):
                await asyncio.wait_for(self._woken.wait(), POLL)
            await asyncio.sleep(GATHER)

    def _send_to_listeners(self, events: tuple[ServiceEvent, ...]) -> None:
        self._woken.clear()
        with self._lock:
            zones, self._zones = tuple(sorted(self._zones)), set()
        if zones or events:
            for listener in tuple(self._listeners):
                listener.put(News(zones, events))

    def _end(self) -> None:
        self._woken.set()
        for listener in self._listeners:
            listener.end()

    def _newest(self) -> int:
        found = self._store.events(limit=1)
        return found[0].seq if found else 0

    def _events(self, after: int) -> tuple[ServiceEvent, ...]:
        return tuple(self._store.events(after=after, limit=PAGE))

    def _call(self, function: Callable[[], None]) -> None:
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop has ended, and its listeners with it
                self._loop.call_soon_threadsafe(function)


class _Listener:
    """Queue of news for one listener; None is the end."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[News | None] = asyncio.Queue()

    def put(self, news: News) -> None:
        if self._queue.qsize() >= MOST_WAITING:
            self.end()
        else:
            self._queue.put_nowait(news)

    def end(self) -> None:
        while not self._queue.empty():
            self._queue.get_nowait()
        self._queue.put_nowait(None)

    async def next(self) -> News | None:
        try:
            return await asyncio.wait_for(self._queue.get(), BEAT)
        except TimeoutError:
            return News()
