"""Copies of a store: one SQLite file, whichever database it comes from or goes to."""

from __future__ import annotations

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

from clearwatt.errors import DataError
from clearwatt.service.store.base import ConflictError
from clearwatt.service.store.opening import is_postgres, open_sql
from clearwatt.service.store.schema import TABLES
from clearwatt.service.store.session import Session
from clearwatt.service.store.sqlite import SqliteStore

NAME = "clearwatt.db"


def copy_to_file(source: Session, folder: Path) -> None:
    """Write everything a session sees into a file in a folder; it appears when it is whole."""
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=folder, prefix=".backup-") as temporary:
        path = Path(temporary) / NAME
        target = SqliteStore(path)
        try:
            with target.writing() as session:
                _copy_tables(source, session)
        finally:
            target.close()
        path.replace(folder / NAME)


def restore_store(folder: Path, address: str | Path) -> None:
    """Load a backup into an empty database of either kind.

    Raises:
        DataError: If there is no backup in the folder.
        ConflictError: If the database is not empty.
    """
    backup = Path(folder) / NAME
    if not backup.is_file():
        raise DataError(f"there is no {NAME} in {folder}; give the folder of a backup")
    if isinstance(address, str) and is_postgres(address):
        _restore_tables(backup, address)
    else:
        _restore_file(backup, Path(address))


def _restore_file(backup: Path, path: Path) -> None:
    if path.exists():
        raise ConflictError(f"{path} exists; move it away before restoring a backup to it")
    path.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=path.parent, prefix=".restore-") as temporary:
        copy = _current_copy(backup, Path(temporary))
        copy.replace(path)


def _restore_tables(backup: Path, address: str) -> None:
    with TemporaryDirectory() as temporary:
        source, target = open_sql(_current_copy(backup, Path(temporary))), open_sql(address)
        try:
            with source.reading() as rows, target.writing() as session:
                _refuse_filled(session, target)
                _copy_tables(rows, session)
        finally:
            source.close()
            target.close()


def _current_copy(backup: Path, folder: Path) -> Path:
    """A copy with the schema of this release, so that the backup stays as it is."""
    copy = folder / NAME
    shutil.copyfile(backup, copy)
    SqliteStore(copy).close()
    return copy


def _refuse_filled(session: Session, target: object) -> None:
    for table in ("zones", "tokens", "events"):
        if session.rows(f"SELECT 1 FROM {table} LIMIT 1"):
            raise ConflictError(f"{target} is not empty; restore a backup to an empty database")


def _copy_tables(source: Session, target: Session) -> None:
    target.run("DELETE FROM counters")  # a new database starts with its own
    for table, columns in TABLES.items():
        target.fill(table, source.stream(f"SELECT {', '.join(columns)} FROM {table}"))
