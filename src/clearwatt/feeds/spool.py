"""Messages on disk between broker and service, in the order of arrival.

A message is acknowledged to the broker once it is here, and removed once the service has it. So the
time of arrival is decided once, and an outage of the service does not fill the broker's queue.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from clearwatt.errors import StateError

_SCHEMA = """
CREATE TABLE IF NOT EXISTS messages (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    topic TEXT NOT NULL,
    payload BLOB NOT NULL,
    arrived REAL NOT NULL,
    retained INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS taken (packet INTEGER PRIMARY KEY, digest BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT NOT NULL);
"""
_BUSY_SECONDS = 30.0


class Message(NamedTuple):
    """A message as it arrived (seconds since 1970); ``retained``: sent because of the subscription.

    ``id`` numbers the messages of a spool; it is 0 until the spool has given it.
    """

    topic: str
    payload: bytes
    arrived: float
    retained: bool = False
    id: int = 0


class Arrival(NamedTuple):
    """A message with the broker's packet number, None without acknowledgement (QoS 0).

    ``repeated``: the broker says that it has sent the message before.
    """

    message: Message
    packet: int | None = None
    repeated: bool = False


class Spool:
    """A queue of messages in one SQLite file; safe to use from several threads and processes."""

    def __init__(self, path: Path) -> None:
        self._lock = threading.Lock()
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._database = sqlite3.connect(path, timeout=_BUSY_SECONDS, check_same_thread=False)
        try:
            self._database.execute("PRAGMA journal_mode = WAL")
            self._database.execute("PRAGMA synchronous = FULL")
            self._database.executescript(_SCHEMA)
        except sqlite3.DatabaseError as error:
            self._database.close()
            raise StateError(f"{path} is not a usable spool ({error}); move it away") from error

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._database.close()

    def add(self, arrivals: Sequence[Arrival]) -> int:
        """Store messages in one transaction; returns how many were not here before.

        A message that the broker repeats is known by its packet number and content.
        """
        with self._lock, self._database:
            count = 0
            for message, packet, repeated in arrivals:
                digest = _digest(message)
                if packet is not None:
                    if repeated and self._taken(packet) == digest:
                        continue
                    self._database.execute(
                        "INSERT OR REPLACE INTO taken VALUES (?, ?)", (packet, digest)
                    )
                self._insert(message)
                count += 1
            return count

    def requeue(self, messages: Iterable[Message]) -> None:
        """Put messages at the end of the queue again, with their times of arrival."""
        with self._lock, self._database:
            for message in messages:
                self._insert(message)

    def begin_connection(self, filters: Sequence[str], *, session_present: bool) -> None:
        """Keep what the session subscribes to; without one, packet numbers begin anew."""
        with self._lock, self._database:
            if not session_present:
                self._database.execute("DELETE FROM taken")
            self._keep("filters", json.dumps(list(filters)))

    def filters(self) -> list[str] | None:
        """What the session subscribes to; None before the first connection."""
        found = self._fact("filters")
        return None if found is None else [str(each) for each in json.loads(found)]

    def client_id(self, given: str | None) -> str:
        """The name of the session: the given one, the one of the last start, or a new one."""
        known = self._fact("client_id")
        chosen = given or known or f"clearwatt-{secrets.token_hex(8)}"
        if chosen != known:  # a start must not need room on the disk
            with self._lock, self._database:
                self._keep("client_id", chosen)
        return chosen

    def first(self, limit: int) -> list[Message]:
        """The oldest messages."""
        with self._lock:
            rows = self._database.execute(
                "SELECT topic, payload, arrived, retained, id FROM messages ORDER BY id LIMIT ?",
                (limit,),
            )
            return [
                Message(topic, payload, arrived, bool(retained), number)
                for topic, payload, arrived, retained, number in rows
            ]

    def remove_through(self, last: int) -> None:
        """Remove the messages up to this id."""
        with self.transaction() as database:
            self.remove_in(database, last)

    @staticmethod
    def remove_in(database: sqlite3.Connection, last: int) -> None:
        """Remove the messages up to this id, as a part of a transaction."""
        database.execute("DELETE FROM messages WHERE id <= ?", (last,))

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """The database, for one transaction."""
        with self._lock, self._database:
            yield self._database

    def count(self) -> int:
        """The number of messages; they leave in order, so their ids have no gaps."""
        with self._lock:
            (found,) = self._database.execute(
                "SELECT coalesce((SELECT max(id) FROM messages) + 1"
                " - (SELECT min(id) FROM messages), 0)"
            ).fetchone()
            return int(found)

    def _fact(self, name: str) -> str | None:
        with self._lock:
            row = self._database.execute("SELECT value FROM facts WHERE name = ?", (name,))
            found = row.fetchone()
        return None if found is None else str(found[0])

    def _keep(self, name: str, value: str) -> None:
        self._database.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, value))

    def _taken(self, packet: int) -> bytes | None:
        row = self._database.execute("SELECT digest FROM taken WHERE packet = ?", (packet,))
        found = row.fetchone()
        return None if found is None else bytes(found[0])

    def _insert(self, message: Message) -> None:
        self._database.execute(
            "INSERT INTO messages (topic, payload, arrived, retained) VALUES (?, ?, ?, ?)",
            (message.topic, message.payload, message.arrived, int(message.retained)),
        )


def _digest(message: Message) -> bytes:
    return hashlib.sha256(message.topic.encode() + b"\0" + message.payload).digest()
