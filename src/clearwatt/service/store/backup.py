"""Backup of a store of either kind into one SQLite file."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from tempfile import TemporaryDirectory

from clearwatt.service.store.errors import StoreDamagedError
from clearwatt.service.store.schema import TABLES
from clearwatt.service.store.session import Session
from clearwatt.service.store.sqlite import SqliteStore

NAME = "clearwatt.db"
_OF_A_CLUSTER = {"nodes", "leases", "secrets"}
"""Tables that are not copied: they are about processes that run."""


def copy_to_file(source: AbstractContextManager[Session], folder: Path) -> None:
    """Copy all tables into an SQLite file in a folder, atomically.

    The source is closed before the copy is examined, which may take long.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=folder, prefix=".backup-") as temporary:
        path = Path(temporary) / NAME
        target = SqliteStore(path)
        try:
            with source as tables, target.write_session() as copy:
                copy_tables(tables, copy)
            damage = target.find_damage()
        finally:
            target.close()
        if damage is not None:
            raise StoreDamagedError(
                f"the database is damaged ({damage}); run 'clearwatt doctor', and keep the backups "
                "you have"
            )
        path.replace(folder / NAME)


def copy_tables(source: Session, target: Session) -> None:
    """Copy the rows of every table, but for those of a running cluster."""
    for table in ("counters", "revisions"):
        target.run(f"DELETE FROM {table}")  # a new database has initial ones
    for table, columns in TABLES.items():
        if table not in _OF_A_CLUSTER:
            target.fill(table, source.stream(f"SELECT {', '.join(columns)} FROM {table}"))
