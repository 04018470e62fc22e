"""A pool of connections, each used by one thread at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

from clearwatt.service.store.errors import StoreUnavailableError

T = TypeVar("T")


class Pool(Generic[T]):
    """Opens connections on demand, up to a limit, and reuses them.

    Args:
        connect: Opens a connection.
        disconnect: Closes one.
        usable: Whether an idle or returned connection can be used again.
        limit: Maximum number of open connections.
        wait: Seconds to wait for a free connection.
    """

    def __init__(
        self,
        connect: Callable[[], T],
        disconnect: Callable[[T], None],
        *,
        usable: Callable[[T], bool] = lambda connection: True,
        limit: int = 8,
        wait: float = 30,
    ) -> None:
        self._connect, self._disconnect, self._usable = connect, disconnect, usable
        self._limit, self._wait = limit, wait
        self._free = threading.Semaphore(limit)
        self._idle: list[T] = []
        self._closed = False

    @contextmanager
    def borrow(self) -> Iterator[T]:
        """A connection for exclusive use within the with-block."""
        if not self._free.acquire(timeout=self._wait):
            raise StoreUnavailableError(
                f"all {self._limit} database connections were busy for {self._wait:g} s; try again"
            )
        try:
            connection = self._take()
            try:
                yield connection
            finally:
                self._give_back(connection)
        finally:
            self._free.release()

    def close(self) -> None:
        """Close idle connections now, and borrowed ones when they are returned."""
        self._closed = True
        while self._idle:
            self._disconnect(self._idle.pop())

    def _take(self) -> T:
        if self._closed:
            raise StoreUnavailableError("the store was closed; open it again")
        while True:
            try:
                connection = self._idle.pop()
            except IndexError:
                return self._connect()
            if self._usable(connection):
                return connection
            self._disconnect(connection)

    def _give_back(self, connection: T) -> None:
        if self._closed or not self._usable(connection):
            self._disconnect(connection)
        else:
            self._idle.append(connection)
