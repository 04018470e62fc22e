"""Restore of a backup into an empty database of either kind."""

from __future__ import annotations

import shutil
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from clearwatt.clock import SECONDS_PER_DAY
from clearwatt.errors import DataError
from clearwatt.service.store.backup import NAME, copy_tables
from clearwatt.service.store.errors import ConflictError, StoreDamagedError
from clearwatt.service.store.opening import is_postgres, open_store
from clearwatt.service.store.schema import CHUNK
from clearwatt.service.store.session import Session
from clearwatt.service.store.sqlite import SqliteStore


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
        source, target = open_store(_current_copy(backup, Path(temporary))), open_store(address)
        try:
            with source.read_session() as rows:
                target.prepare_times(_times(rows))
                with target.write_session() as session:
                    _require_empty(session, target)
                    copy_tables(rows, session)
        finally:
            source.close()
            target.close()


def _times(session: Session) -> dict[str, list[float]]:
    """A time of each chunk of readings, and of each day of the journal and of forecasts."""
    units = {"readings": ("chunk", CHUNK)} | {
        table: (f"CAST({column} / {SECONDS_PER_DAY} AS INTEGER)", SECONDS_PER_DAY)
        for table, column in (("journal", "at"), ("vintages", "issued_at"))
    }
    return {
        table: [unit * each for (each,) in session.rows(f"SELECT DISTINCT {key} FROM {table}")]
        for table, (key, unit) in units.items()
    }


def _current_copy(backup: Path, folder: Path) -> Path:
    """A copy of the backup, migrated to the schema of this release."""
    copy = folder / NAME
    shutil.copyfile(backup, copy)
    with closing(SqliteStore(copy)) as store:
        damage = store.find_damage()
    if damage is not None:
        raise StoreDamagedError(f"{backup} is damaged ({damage}); use another backup")
    return copy


def _require_empty(session: Session, target: object) -> None:
    for table in ("zones", "tokens", "events"):
        if session.rows(f"SELECT 1 FROM {table} LIMIT 1"):
            raise ConflictError(f"{target} is not empty; restore a backup to an empty database")
