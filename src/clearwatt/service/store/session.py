"""The database interface of the statements: a session that takes rows in bulk."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from clearwatt.service.store.schema import TABLES

Row = tuple[Any, ...]


class ValueTable(NamedTuple):
    """Parameters as an SQL table called ``given``: the SQL and its parameters."""

    sql: str
    values: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Insert:
    """An INSERT of all columns of a table; ``conflict`` is its ON CONFLICT clause, if any."""

    table: str
    conflict: str = ""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the table, in the order of the values."""
        return tuple(TABLES[self.table])

    @property
    def sql(self) -> str:
        """The statement for one row."""
        names, marks = ", ".join(self.columns), ", ".join("?" * len(self.columns))
        return f"INSERT INTO {self.table} ({names}) VALUES ({marks}) {self.conflict}"

    def row(self, record: object, **encoded: object) -> Row:
        """The values of a record; ``encoded`` are those that are not stored as they are."""
        return tuple(
            encoded[name] if name in encoded else getattr(record, name) for name in self.columns
        )


def upsert(table: str, *key: str) -> Insert:
    """An INSERT that replaces the row with the same key."""
    others = [f"{name} = excluded.{name}" for name in TABLES[table] if name not in key]
    return Insert(table, f"ON CONFLICT ({', '.join(key)}) DO UPDATE SET {', '.join(others)}")


class Session(ABC):
    """A connection, in a transaction if it writes; statements mark parameters with ``?``."""

    locking: str
    """Clause by which a SELECT locks its rows until the transaction ends."""
    text_bytes: str
    """Function that tells the length of a text without reading it, if the database can."""
    row_id: str
    """Columns by which the database itself tells the rows of a table apart."""
    partitioned: bool
    """Whether the large tables are partitioned by time."""

    now: str
    """Expression of the database's clock, in seconds since 1970: one clock for all nodes."""

    @abstractmethod
    def rows(self, sql: str, *values: object) -> list[Row]:
        """The rows that a statement returns."""

    @abstractmethod
    def stream(self, sql: str) -> Iterator[Row]:
        """The rows that a statement returns, one by one, to save memory."""

    @abstractmethod
    def run(self, sql: str, *values: object) -> int:
        """Run a statement and return how many rows it changed."""

    @abstractmethod
    def insert(self, insert: Insert, columns: Sequence[Sequence[object]]) -> None:
        """Insert rows, given column by column, in one statement."""

    @abstractmethod
    def fill(self, table: str, rows: Iterator[Row]) -> None:
        """Insert any number of rows into a table, as fast as the database can."""

    @abstractmethod
    def value_table(
        self,
        *,
        numbers: Mapping[str, Sequence[int]] | None = None,
        texts: Mapping[str, Sequence[str]] | None = None,
    ) -> ValueTable:
        """Columns of whole numbers and of texts as a table to join with.

        Put it to the left of a CROSS JOIN, whose order SQLite follows.
        """

    @abstractmethod
    def arrange_tables(self) -> None:
        """Partition large tables by time and store files as they are, if the database can."""

    @abstractmethod
    def limit_lock_wait(self, seconds: float) -> None:
        """Raise StoreBusyError once a statement of this transaction waits longer for a lock."""

    @abstractmethod
    def limit_pause(self, seconds: float) -> None:
        """Let the database end this transaction once its process does nothing for longer."""

    def insert_rows(self, insert: Insert, rows: Sequence[Row]) -> None:
        """Insert rows in one statement."""
        self.insert(insert, list(zip(*rows, strict=True)))
