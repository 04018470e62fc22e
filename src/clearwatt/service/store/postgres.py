"""A store in PostgreSQL."""

from __future__ import annotations

import select
import threading
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

from clearwatt.errors import ClearwattError, ConfigurationError, DataError, MissingExtraError
from clearwatt.service.store import partitions
from clearwatt.service.store.backup import copy_to_file
from clearwatt.service.store.base import Store
from clearwatt.service.store.channel import CHANNEL, Channel
from clearwatt.service.store.errors import (
    ConflictError,
    StoreBusyError,
    StoreFullError,
    StoreUnavailableError,
)
from clearwatt.service.store.migrations import migrate
from clearwatt.service.store.partition_keeper import PartitionKeeper
from clearwatt.service.store.partitions import PARTITIONED
from clearwatt.service.store.pool import Pool
from clearwatt.service.store.schema import TABLES, Type
from clearwatt.service.store.session import Insert, Row, Session, ValueTable

try:
    import psycopg
    from psycopg import conninfo, pq
except ImportError:
    raise MissingExtraError("psycopg", "postgres") from None

PostgresConnection = psycopg.Connection[Row]

TYPES: Mapping[str, str] = {
    "integer": "BIGINT",
    "real": "DOUBLE PRECISION",
    "text": "TEXT",
    "blob": "BYTEA",
    "strict": "",
    "keyed": "",
}
BINARY_TYPES: Mapping[Type, str] = {
    "integer": "int8",
    "real": "float8",
    "text": "text",
    "blob": "bytea",
}
"""Types of the binary form of COPY, which converts nothing."""
MIGRATING, SERVING = 0x6377_0001, 0x6377_0002
"""Keys of the advisory locks for migrating and for serving."""

SETTINGS = """
    SET default_transaction_isolation = 'read committed';
    SET synchronous_commit = on;
    SET lock_timeout = '30s';
    SET enable_hashjoin = off;  -- every join looks up a few keys; a wrong estimate must not
    SET enable_mergejoin = off; -- make the planner scan all readings
"""
FULL, LOCKED, PASSING = "53100", ("40", "55P03"), ("08", "25P03", "53", "57", "58")
"""Error code of a full disk; prefixes of errors by locks (deadlock, wait too long) and of other
transient ones: lost connection, transaction ended after a pause, too many connections, shutdown."""


ROOM, ROOM_INTERVAL = 2**20, 5.0
"""Free bytes below which a disk that was full stays full, and seconds between two tests of that."""


class PostgresStore(Store):
    """A store in which writers of different zones run concurrently, those of one zone in turn."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self._address = Address(url)
        self._pool = Pool(self._address.connect, psycopg.Connection.close, usable=_usable)
        self._held: PostgresConnection | None = None
        self._alone = True
        self._locking = threading.Lock()
        self._full: str | None = None
        self._tested_room = 0.0
        self._partitions = PartitionKeeper(self.write_session)
        try:
            with self.write_session() as session:
                session.rows("SELECT pg_advisory_xact_lock(?)", MIGRATING)
                migrate(session, TYPES)
        except BaseException:
            self.close()
            raise

    def __repr__(self) -> str:
        return f"PostgresStore({str(self._address)!r})"

    @contextmanager
    def read_session(self) -> Iterator[Session]:
        """A connection without a transaction."""
        with self._address.translate_errors(), self._pool.borrow() as connection:
            yield PostgresSession(connection)

    @contextmanager
    def write_session(self) -> Iterator[Session]:
        """A connection in a transaction; `check` reports that its disk is full."""
        try:
            with (
                self._address.translate_errors(),
                self._pool.borrow() as connection,
                connection.transaction(),
            ):
                yield PostgresSession(connection)
        except StoreFullError as error:
            self._full = str(error)
            raise

    def size(self) -> int:
        """Bytes of the database."""
        with self.read_session() as session:
            return int(session.rows("SELECT pg_database_size(current_database())")[0][0])

    def backup(self, folder: Path) -> None:
        """Copy every table, as of one moment, into an SQLite file."""
        with self.write_session() as session:
            session.run("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            # Before the snapshot: a partition that is dropped after it would be missed.
            names = ", ".join(table.name for table in PARTITIONED)
            session.run(f"LOCK TABLE {names} IN ACCESS SHARE MODE")
            copy_to_file(session, folder)

    def prepare_times(self, times: Mapping[str, Collection[float]]) -> None:
        """Create the partitions that rows of some times need, by table; seconds since 1970."""
        for table in PARTITIONED:
            self._partitions.prepare(table, times.get(table.name, ()))

    def keep_partitions(self) -> None:
        """Convert the tables of an earlier release, and create partitions of the next months."""
        self._partitions.run()

    def drop_vintages(self, before: float) -> int:
        """Drop partitions whose forecasts were all issued before a time; returns how many."""
        return self._partitions.drop_vintages(before)

    def journal_limit(self, before: float) -> float:
        """The time before which whole partitions of the journal can go."""
        return self._partitions.journal_limit(before)

    def drop_archived(self, before: float) -> None:
        """Drop partitions with archived entries only, all accepted before a time."""
        self._partitions.drop_journal(before)

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Hold an advisory lock; it ends with the connection."""
        with self._hold_lock(alone=True):
            yield

    @contextmanager
    def shared(self) -> Iterator[None]:
        """Hold the advisory lock together with the other nodes."""
        with self._hold_lock(alone=False):
            yield

    def open_channel(self) -> Channel:
        """News of the other nodes."""
        return Channel(self._address.connect, self._address.translate_errors)

    def send(self, message: str) -> None:
        """Send a message to all nodes that listen."""
        with self.read_session() as session:
            session.rows(f"SELECT pg_notify({CHANNEL}, ?)", message)

    @contextmanager
    def _hold_lock(self, *, alone: bool) -> Iterator[None]:
        self._alone = alone
        self._held = self._take_lock()
        try:
            yield
        finally:
            self._held.close()
            self._held = None

    def check(self) -> None:
        """Read something; a lock lost with its connection is acquired again.

        PostgreSQL does not tell how much room its disks have. So a disk is full once a transaction
        of this process has failed for that reason, until there is room for a test table.
        """
        super().check()
        if self._full is not None:
            self._test_room()
        self.keep_lock()

    def keep_lock(self) -> None:
        """Take the lock of the service again if it was lost with its connection."""
        with self._locking:
            if self._held is not None and not _usable(self._held):
                self._held.close()
                self._held = self._take_lock()

    def close(self) -> None:
        """Close every connection."""
        self._pool.close()

    def _test_room(self) -> None:
        """Raise StoreFullError unless there is room for a table, which is not committed."""
        if self._full is not None and time.monotonic() - self._tested_room < ROOM_INTERVAL:
            raise StoreFullError(self._full)
        self._tested_room = time.monotonic()
        with suppress(psycopg.errors.InsufficientPrivilege), self.write_session() as session:
            session.run("CREATE TABLE clearwatt_room (content BYTEA)")
            session.run("ALTER TABLE clearwatt_room ALTER content SET STORAGE EXTERNAL")
            session.run("INSERT INTO clearwatt_room VALUES (?)", bytes(ROOM))
            session.run("DROP TABLE clearwatt_room")
        self._full = None

    def _take_lock(self) -> PostgresConnection:
        with self._address.translate_errors():
            connection = self._address.connect()
            function = "pg_try_advisory_lock" if self._alone else "pg_try_advisory_lock_shared"
            sql = f"SELECT {function}(?, hashtext(current_schema()))"
            ((taken,),) = PostgresSession(connection).rows(sql, SERVING)
        if taken:
            return connection
        connection.close()
        other = "another service" if self._alone else "a service that is no node of a cluster"
        raise ConflictError(f"{other} uses the {self._address}; stop it, or use another database")


class PostgresSession(Session):
    """A session of PostgreSQL; columns of values are passed as arrays."""

    locking = "FOR NO KEY UPDATE"
    now = "CAST(EXTRACT(EPOCH FROM clock_timestamp()) AS DOUBLE PRECISION)"
    text_bytes = "octet_length"
    row_id = "tableoid, ctid"  # ctid alone is unique within a partition only
    partitioned = True

    def __init__(self, connection: PostgresConnection) -> None:
        self._connection = connection

    def rows(self, sql: str, *values: object) -> list[Row]:
        """The rows that a statement returns."""
        return self._connection.execute(_query(sql), values).fetchall()

    def stream(self, sql: str) -> Iterator[Row]:
        """The rows that a statement returns, fetched in portions."""
        with self._connection.cursor("portions") as cursor:
            cursor.itersize = 10_000
            yield from cursor.execute(_query(sql))

    def run(self, sql: str, *values: object) -> int:
        """Run a statement."""
        return self._connection.execute(_query(sql), values).rowcount

    def limit_lock_wait(self, seconds: float) -> None:
        """Limit it until the transaction ends."""
        self._connection.execute(f"SET LOCAL lock_timeout = {round(1000 * seconds)}".encode())

    def limit_pause(self, seconds: float) -> None:
        """Limit it until the transaction ends."""
        timeout = f"idle_in_transaction_session_timeout = {round(1000 * seconds)}"
        self._connection.execute(f"SET LOCAL {timeout}".encode())

    def insert(self, insert: Insert, columns: Sequence[Sequence[object]]) -> None:
        """Insert rows given column by column."""
        arrays = ", ".join(f"?::{TYPES[kind]}[]" for kind in TABLES[insert.table].values())
        names = ", ".join(insert.columns)
        self.run(
            f"INSERT INTO {insert.table} ({names}) SELECT * FROM unnest({arrays}) "
            f"{insert.conflict}",
            *map(list, columns),
        )

    def fill(self, table: str, rows: Iterator[Row]) -> None:
        """Insert any number of rows."""
        columns = TABLES[table]
        names = ", ".join(columns)
        with (
            self._connection.cursor() as cursor,
            cursor.copy(_query(f"COPY {table} ({names}) FROM STDIN (FORMAT BINARY)")) as copy,
        ):
            copy.set_types([BINARY_TYPES[kind] for kind in columns.values()])
            for row in rows:
                copy.write_row(row)

    def arrange_tables(self) -> None:
        """Partition the large tables by time, and do not compress files; no row is looked at.

        Weights do not shrink, and the attempt took most of the time of a checkpoint.
        """
        partitions.partition_tables(self)
        self.run("ALTER TABLE folders ALTER COLUMN content SET STORAGE EXTERNAL")

    def value_table(
        self,
        *,
        numbers: Mapping[str, Sequence[int]] | None = None,
        texts: Mapping[str, Sequence[str]] | None = None,
    ) -> ValueTable:
        """Columns as a table, from arrays; numbers as text, which takes half the time of a list."""
        columns: list[tuple[str, Type, str | list[str]]] = [
            *((name, "integer", _array(column)) for name, column in (numbers or {}).items()),
            *((name, "text", list(column)) for name, column in (texts or {}).items()),
        ]
        names = ", ".join(name for name, _, _ in columns)
        arrays = ", ".join(f"?::{TYPES[kind]}[]" for _, kind, _ in columns)
        return ValueTable(f"unnest({arrays}) AS given({names})", tuple(c for _, _, c in columns))


def _array(numbers: Sequence[int]) -> str:
    """Whole numbers as PostgreSQL writes an array."""
    return f"{{{','.join(map(str, numbers))}}}"


class Address:
    """The address of a database; its password is never shown."""

    def __init__(self, url: str) -> None:
        try:
            self._parameters = conninfo.conninfo_to_dict(url)
        except psycopg.Error:
            self._parameters = {}  # the message could contain a part of the password
        named = [str(self._parameters.get(name, "")) for name in ("host", "dbname")]
        if not self._parameters or "@" in "".join(named):
            raise ConfigurationError(
                "the address of the database cannot be read; write "
                "postgresql://user:password@host:port/database and percent-encode "
                "characters such as @ : / # in the password"
            )

    def __str__(self) -> str:
        host = self._parameters.get("host", "localhost")
        return f"postgresql database {self._parameters.get('dbname', '')!r} on {host}"

    def connect(self) -> PostgresConnection:
        """Open a connection with synchronous commits and time limits."""
        # A database that was cut off must not hold up a thread for the hours that TCP would wait.
        patience = {"connect_timeout": 10, "tcp_user_timeout": 20_000, "keepalives_idle": 10}
        parameters: dict[str, Any] = {**patience, **self._parameters}
        connection = psycopg.connect(autocommit=True, **parameters)
        connection.execute(SETTINGS)
        return connection

    @contextmanager
    def translate_errors(self) -> Iterator[None]:
        """Translate errors of the database into ours; errors in a statement pass through."""
        try:
            yield
        except psycopg.Error as error:
            ours = self._translation(error)
            if ours is None:
                raise
            raise ours from None

    def _translation(self, error: psycopg.Error) -> ClearwattError | None:
        reason = self._without_password(str(error).strip())
        if error.sqlstate == FULL:
            return StoreFullError(
                f"the disk of the {self} is full; nothing was written: free some space and send "
                "it again"
            )
        if isinstance(error, psycopg.DataError):
            return DataError(reason)
        if error.sqlstate is not None and error.sqlstate.startswith(LOCKED):
            return StoreBusyError(f"the {self} is busy: {reason}")
        if error.sqlstate is None or error.sqlstate.startswith(PASSING):
            return StoreUnavailableError(f"the {self} does not answer: {reason}")
        return None

    def _without_password(self, text: str) -> str:
        password = str(self._parameters.get("password") or "")
        return text.replace(password, "***") if password else text


def _usable(connection: PostgresConnection) -> bool:
    """Whether a connection can be used again; pending data mean that the server closed it."""
    if connection.closed or connection.info.transaction_status != pq.TransactionStatus.IDLE:
        return False
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN)
    return not poll.poll(0)


@cache
def _query(sql: str) -> bytes:
    """SQL with the placeholders of psycopg."""
    return sql.replace("?", "%s").encode()
