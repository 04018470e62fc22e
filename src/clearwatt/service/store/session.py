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


class Session(ABC):
    """A connection, in a transaction if it writes; statements mark parameters with ``?``."""

    locking: str
    """Clause by which a SELECT locks its rows until the transaction ends."""

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

    def insert_row(self, insert: Insert, *values: object) -> None:
        """Insert one row."""
        self.insert(insert, [[value] for value in values])
