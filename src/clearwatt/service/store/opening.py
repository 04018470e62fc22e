"""Opens the store at an address."""

from __future__ import annotations

from pathlib import Path

from clearwatt.errors import ConfigurationError
from clearwatt.service.store.base import Store
from clearwatt.service.store.journal_archive import ARCHIVE, JournalArchive
from clearwatt.service.store.sqlite import SqliteStore


def open_store(address: str | Path, *, archive: Path | JournalArchive | None = None) -> Store:
    """Open a store; its tables are created or migrated if necessary.

    Args:
        address: The path of an SQLite file, or ``postgresql://user:password@host/database``.
        archive: Folder with archived entries of the journals; by default the one beside an SQLite
            file.
    """
    store = _open(address)
    if archive is None and isinstance(store, SqliteStore):
        archive = store.path.parent / ARCHIVE
    store.archive = JournalArchive(archive) if isinstance(archive, Path) else archive
    return store


def _open(address: str | Path) -> Store:
    if isinstance(address, str) and is_postgres(address):
        from clearwatt.service.store.postgres import PostgresStore

        return PostgresStore(address)
    path = Path(address)
    if path.is_dir() or "://" in str(address):
        raise ConfigurationError(
            f"{_without_secrets(str(address))} is no database; give the path of a file or "
            "postgresql://user:password@host/database"
        )
    return SqliteStore(path)


def is_postgres(address: str) -> bool:
    """Whether an address names a PostgreSQL database."""
    return address.startswith(("postgresql://", "postgres://"))


def _without_secrets(address: str) -> str:
    return address.rpartition("@")[2]
