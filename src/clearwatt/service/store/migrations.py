"""Migration of a database to the schema of this release, in one transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from clearwatt.errors import StateError
from clearwatt.service.store.schema import MIGRATIONS, PARTITIONS
from clearwatt.service.store.session import Session

Types = Mapping[str, str]
"""Type names of a database for the words in braces of `schema.MIGRATIONS`."""


def migrate(
    session: Session, types: Types, *, migrations: Sequence[Sequence[str]] = MIGRATIONS
) -> int:
    """Apply the missing migrations and return how many.

    The caller holds a lock, so that two processes never migrate at once.

    Raises:
        StateError: If a newer release has written the database.
    """
    session.run("CREATE TABLE IF NOT EXISTS clearwatt_schema (version INTEGER NOT NULL)")
    found = session.rows("SELECT version FROM clearwatt_schema")
    version = int(found[0][0]) if found else 0
    if version > len(migrations):
        raise StateError(
            f"the database has schema {version}, this release knows schemas up to "
            f"{len(migrations)}; use the release that wrote it, or a newer one"
        )
    for number, step in enumerate(migrations[version:], version + 1):
        for statement in step:
            session.run(statement.format_map(types))
        if number == PARTITIONS:
            session.arrange_tables()
    if version < len(migrations):
        _record_version(session, len(migrations), known=bool(found))
    return len(migrations) - version


def _record_version(session: Session, version: int, *, known: bool) -> None:
    verb = "UPDATE clearwatt_schema SET version = ?" if known else None
    session.run(verb or "INSERT INTO clearwatt_schema (version) VALUES (?)", version)
