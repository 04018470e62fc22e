"""A store in one SQLite file."""

from __future__ import annotations

import errno
import json
import shutil
import sqlite3
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NoReturn

from clearwatt.errors import ClearwattError, ConfigurationError
from clearwatt.files import lock_file
from clearwatt.service.store.base import Store
from clearwatt.service.store.errors import (
    ConflictError,
    StoreDamagedError,
    StoreFullError,
    StoreUnavailableError,
)
from clearwatt.service.store.migrations import migrate
from clearwatt.service.store.pool import Pool
from clearwatt.service.store.rot import find_rot
from clearwatt.service.store.session import Insert, Row, Session, ValueTable

TYPES = {
    "integer": "INTEGER",
    "real": "REAL",
    "blob": "BLOB",
    "strict": " STRICT",
    "keyed": " STRICT, WITHOUT ROWID",
}
UNUSABLE = {
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_PERM,
}
DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
BUSY_SECONDS = 30
ALMOST_FULL = 2**20
"""Free bytes below which an I/O error is reported as a full disk."""


class SqliteStore(Store):
    """A store in which readers never wait for the writer, and writers take turns."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self._lock = threading.Lock()
        self._closed = False
        self._damage: str | None = None
        self._readers = Pool(lambda: connect(path), sqlite3.Connection.close)
        with translate_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            self._writer = connect(path)
        try:
            with self.write_session() as session:
                migrate(session, TYPES)
        except BaseException:
            self._writer.close()
            raise

    def __repr__(self) -> str:
        return f"SqliteStore({str(self.path)!r})"

    @contextmanager
    def read_session(self) -> Iterator[Session]:
        """One of the connections that only read."""
        with self._translate_errors(), self._readers.borrow() as connection:
            yield SqliteSession(connection)

    @contextmanager
    def write_session(self) -> Iterator[Session]:
        """The one connection that writes, in a transaction."""
        with self._translate_errors(), self._lock:
            if self._closed:
                raise StoreUnavailableError(f"{self.path} was closed; open it again")
            with _transaction(self._writer) as session:
                yield session

    def check(self) -> None:
        """Read something, and look whether damage is known and whether there is room to write."""
        if self._damage is not None:
            raise damage_error(self.path, self._damage)
        super().check()
        if _almost_full(self.path):
            raise _full_error(self.path)

    def find_damage(self, *, rows: bool = True) -> str | None:
        """Check every page, index and row; `check` reports what was found."""
        with translate_errors(self.path), self._readers.borrow() as connection:
            self._damage = find_damage(connection, rows=rows)
        return self._damage

    def mend_damage(self) -> bool:
        """Build the indexes again, and readings from the journal; whether no damage is left."""
        try:
            with self.write_session() as session:
                session.run("REINDEX")
        except (StoreDamagedError, ConflictError, sqlite3.IntegrityError):
            return False
        return super().mend_damage()

    def size(self) -> int:
        """Bytes of the file and of its write-ahead log."""
        files = (self.path.with_name(self.path.name + end) for end in ("", "-wal"))
        return sum(file.stat().st_size for file in files if file.exists())

    def backup(self, folder: Path) -> None:
        """Copy the file with the backup of SQLite, which copies one consistent state."""
        folder.mkdir(parents=True, exist_ok=True)
        part, whole = folder / ".clearwatt.db.part", folder / "clearwatt.db"
        part.unlink(missing_ok=True)
        with translate_errors(folder), self._readers.borrow() as connection:
            with closing(sqlite3.connect(part)) as target:
                connection.backup(target)
                damage = find_damage(target)
            if damage is not None:
                part.unlink()
                raise damage_error(self.path, damage)
            part.replace(whole)

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Hold a lock on a file beside the database."""
        with translate_errors(self.path):
            file = self.path.with_name(self.path.name + ".lock").open("w")
        with file:
            if not lock_file(file):
                raise ConflictError(
                    f"another service uses {self.path}; stop it, or use another data directory"
                )
            yield

    def shared(self) -> NoReturn:
        """A file has one service."""
        raise ConfigurationError(
            "the nodes of a cluster share a PostgreSQL database; give its address as --database"
        )

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        """Translate errors, and remember that the database is damaged."""
        try:
            with translate_errors(self.path):
                yield
        except StoreDamagedError as error:
            self._damage = str(error.__cause__ or error)
            raise

    def close(self) -> None:
        """Close every connection."""
        self._readers.close()
        with self._lock:
            self._closed = True
            self._writer.close()


class SqliteSession(Session):
    """A session of SQLite; columns of values are passed as JSON."""

    locking = ""  # a writing transaction locks the whole file
    now = "((julianday('now') - 2440587.5) * 86400.0)"
    text_bytes = "length"  # in characters: octet_length is not in older releases
    row_id = "rowid"
    partitioned = False

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def rows(self, sql: str, *values: object) -> list[Row]:
        """The rows that a statement returns."""
        return self._connection.execute(sql, values).fetchall()

    def stream(self, sql: str) -> Iterator[Row]:
        """The rows that a statement returns, one by one."""
        return iter(self._connection.execute(sql))

    def run(self, sql: str, *values: object) -> int:
        """Run a statement."""
        return self._connection.execute(sql, values).rowcount

    def limit_lock_wait(self, seconds: float) -> None:
        """Nothing to limit: a writing transaction has all locks from its beginning."""

    def limit_pause(self, seconds: float) -> None:
        """Nothing to limit: a database file has no server that could end it."""

    def insert(self, insert: Insert, columns: Sequence[Sequence[object]]) -> None:
        """Insert rows given column by column."""
        self._connection.executemany(insert.sql, zip(*columns, strict=True))

    def fill(self, table: str, rows: Iterator[Row]) -> None:
        """Insert any number of rows."""
        self._connection.executemany(Insert(table).sql, rows)

    def arrange_tables(self) -> None:
        """Nothing: SQLite has no partitions, and compresses nothing."""

    def value_table(
        self,
        *,
        numbers: Mapping[str, Sequence[int]] | None = None,
        texts: Mapping[str, Sequence[str]] | None = None,
    ) -> ValueTable:
        """Columns as a table, from JSON."""
        columns: dict[str, Sequence[object]] = {**(numbers or {}), **(texts or {})}
        fields = (f"json_extract(value, '$[{i}]') AS {name}" for i, name in enumerate(columns))
        rows = list(zip(*columns.values(), strict=True))
        return ValueTable(
            f"(SELECT {', '.join(fields)} FROM json_each(?)) given", (json.dumps(rows),)
        )


def find_damage(connection: sqlite3.Connection, *, rows: bool = True) -> str | None:
    """The first damage that SQLite finds in any page or index, or in a row; None: there is none."""
    try:
        (found,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
    except sqlite3.DatabaseError as error:
        if (error.sqlite_errorcode & 0xFF) not in DAMAGED:
            raise
        return str(error)
    if found != "ok":
        return " ".join(str(found).split())
    return find_rot(SqliteSession(connection)) if rows else None


def damage_error(path: Path, damage: str) -> StoreDamagedError:
    """The error of a damaged database, with its remedy."""
    return StoreDamagedError(
        f"the database {path.name} is damaged ({damage}); stop the service, run 'clearwatt doctor' "
        "and restore the last backup"
    )


def connect(path: Path) -> sqlite3.Connection:
    """Open a file with synchronous commits and a write-ahead log."""
    connection = sqlite3.connect(
        path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
    )
    try:
        _use_write_ahead_log(connection)
        for pragma in (
            "synchronous = FULL",
            "foreign_keys = ON",
            "wal_autocheckpoint = 8000",  # pages; fewer checkpoints write a page less often
            "journal_size_limit = 67108864",
            "cache_size = -16384",
        ):
            connection.execute(f"PRAGMA {pragma}")
    except BaseException:
        connection.close()
        raise
    return connection


def _use_write_ahead_log(connection: sqlite3.Connection) -> None:
    """Switch a new file to a write-ahead log; SQLite does not wait for others here, so retry."""
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
        else:
            return


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[Session]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield SqliteSession(connection)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # SQLite itself rolls back when the disk is full
            connection.execute("ROLLBACK")
        raise


@contextmanager
def translate_errors(path: Path) -> Iterator[None]:
    """Translate errors of SQLite and files into ours; errors in a statement pass through."""
    try:
        yield
    except sqlite3.Error as error:
        ours = _translation(error, path)
        if ours is None:
            raise
        raise ours from error
    except OSError as error:
        if isinstance(error, ClearwattError):
            raise
        raise _of_file_system(error, path) from error


def _translation(error: sqlite3.Error, path: Path) -> ClearwattError | None:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the rest is detail
    if code == sqlite3.SQLITE_FULL or (code == sqlite3.SQLITE_IOERR and _almost_full(path)):
        return _full_error(path)
    if code in UNUSABLE:
        return StoreUnavailableError(f"{path} cannot be used now: {error}; try again")
    if code in DAMAGED:
        return damage_error(path, str(error))
    return None


def _of_file_system(error: OSError, path: Path) -> ClearwattError:
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return _full_error(path)
    return StoreUnavailableError(f"{path} cannot be used: {error}")


def _full_error(path: Path) -> StoreFullError:
    return StoreFullError(
        f"the disk of {path} is full; nothing was written: free some space and send it again"
    )


def _almost_full(path: Path) -> bool:
    return shutil.disk_usage(path.parent).free < ALMOST_FULL
