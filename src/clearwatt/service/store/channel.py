"""News between the nodes of a cluster, by LISTEN and NOTIFY of PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from typing import TYPE_CHECKING

from clearwatt.service.store.session import Row

if TYPE_CHECKING:
    import psycopg

CHANNEL = "('clearwatt_' || md5(current_schema()))"
"""Expression of the channel's name; clusters in other schemas of a database have their own."""
LONGEST = 7900
"""Bytes of the longest message; PostgreSQL takes less than 8,000."""


class Channel:
    """A connection that receives news, opened when first needed and again after a failure.

    Args:
        connect: Opens a connection.
        translate_errors: Raises errors of the store instead of those of the database.
    """

    def __init__(
        self,
        connect: Callable[[], psycopg.Connection[Row]],
        translate_errors: Callable[[], AbstractContextManager[None]],
    ) -> None:
        self._connect, self._translate_errors = connect, translate_errors
        self._connection: psycopg.Connection[Row] | None = None

    @property
    def is_open(self) -> bool:
        """Whether nothing was missed since the last call of `receive`."""
        return self._connection is not None

    def receive(self, seconds: float) -> list[str]:
        """Wait for messages for at most ``seconds``; StoreUnavailableError if it cannot be."""
        try:
            with self._translate_errors():
                if self._connection is None:
                    self._connection = self._listen()
                # Those that have come are handed out at once, not after the whole wait.
                found = self._connection.notifies(timeout=seconds, stop_after=1)
                return [notice.payload for notice in found]
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the connection; the next call of `receive` opens another."""
        if self._connection is not None:
            with suppress(Exception):  # whatever is wrong with it, another one is opened
                self._connection.close()
            self._connection = None

    def _listen(self) -> psycopg.Connection[Row]:
        connection = self._connect()
        ((name,),) = connection.execute(f"SELECT {CHANNEL}".encode()).fetchall()
        connection.execute(f'LISTEN "{name}"'.encode())
        return connection
