"""Bounds of open connections: idle and stalled ones are closed to make room for others."""

from __future__ import annotations

import asyncio
import resource
from collections import Counter
from collections.abc import Iterator
from typing import Any, cast

from uvicorn.protocols.http.h11_impl import H11Protocol

RESERVED = 512
"""File descriptors for the database, model files and connections not yet counted."""
BACKLOG = 256
"""Connections accepted at a time; fewer than are reserved, so that descriptors never run out."""
MOST = 10_000
"""Maximum number of open connections, however many descriptors there are."""
_FEWEST = 16
IDLE_SECONDS = 20.0
"""A connection without a complete request is closed after this time, or a little later."""
STALLED_SECONDS = 60.0
"""A connection whose client does not read its answer is closed after this time."""


def connection_limit() -> int:
    """Raise the limit of file descriptors as far as allowed; returns how many connections fit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST + RESERVED
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    if soft == resource.RLIM_INFINITY:
        return MOST
    return max(_FEWEST, min(MOST, soft - RESERVED))


class ConnectionTable:
    """The open connections of a server, in order of arrival.

    A new one beyond the limit replaces the oldest idle one. If none is idle, it is refused. The
    same holds for the connections of one address, which may have half of all.

    Args:
        most: Maximum number of connections.
        idle: Seconds without a complete request after which a connection is closed.
        stalled: Seconds without progress of an answer after which it is closed.
    """

    def __init__(
        self, most: int, *, idle: float = IDLE_SECONDS, stalled: float = STALLED_SECONDS
    ) -> None:
        self.most, self.idle, self.stalled = most, idle, stalled
        self._open: dict[BoundedProtocol, str] = {}
        self._by_address: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._open)

    def add(self, connection: BoundedProtocol, address: str) -> bool:
        """Count a connection; False if there is no room."""
        if self._by_address[address] >= max(1, self.most // 2):
            if not self._close_oldest_idle(address):
                return False
        elif len(self._open) >= self.most and not self._close_oldest_idle():
            return False
        self._open[connection] = address
        self._by_address[address] += 1
        return True

    def remove(self, connection: BoundedProtocol) -> None:
        """Forget a connection."""
        address = self._open.pop(connection, None)
        if address is not None:
            self._by_address[address] -= 1
            if not self._by_address[address]:
                del self._by_address[address]

    def _close_oldest_idle(self, address: str | None = None) -> bool:
        oldest = next(self._idle(address), None)
        if oldest is None:
            return False
        self.remove(oldest)
        oldest.abort()
        return True

    def _idle(self, address: str | None) -> Iterator[BoundedProtocol]:
        for connection, owner in self._open.items():
            if connection.is_idle and address in (None, owner):
                yield connection


class BoundedProtocol(H11Protocol):
    """A connection that is counted, and closed when it is idle or stalled for too long."""

    table: ConnectionTable
    _transport: asyncio.Transport
    _timer: asyncio.TimerHandle | None = None
    _since = 0.0
    _unsent = 0
    _request: object = None

    @property
    def is_idle(self) -> bool:
        """Whether no request is being answered."""
        cycle: Any = self.cycle  # None before the first request
        return cycle is None or bool(cycle.response_complete)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Count the connection, or close it if there is no room."""
        self._transport, self._since = cast("asyncio.Transport", transport), self.loop.time()
        super().connection_made(self._transport)
        peer = transport.get_extra_info("peername")
        if not self.table.add(self, str(peer[0]) if peer else "unknown"):
            self.abort()
            return
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self.table.remove(self)
        if self._timer is not None:
            self._timer.cancel()
        super().connection_lost(exc)

    def abort(self) -> None:
        """Close the connection at once."""
        self._transport.abort()

    def _watch(self) -> None:
        """Close the connection if nothing has happened for too long; look again later."""
        now, unsent = self.loop.time(), self._transport.get_write_buffer_size()
        stalled = unsent > 0 and unsent == self._unsent
        requested = self.cycle is not self._request  # since the last look, answered or not
        if (requested or not self.is_idle) and not stalled:
            self._since = now
        self._unsent, self._request = unsent, self.cycle
        if now - self._since >= (self.table.stalled if stalled else self.table.idle):
            self.abort()
            return
        self._timer = self.loop.call_later(self.table.idle / 2, self._watch)


def bounded_protocol(limits: ConnectionTable) -> type[BoundedProtocol]:
    """The class of connections of one server."""

    class Connection(BoundedProtocol):
        table = limits

    return Connection
