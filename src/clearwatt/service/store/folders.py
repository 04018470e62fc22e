"""Folders of files in the database, where every node of a cluster can read them."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping

from clearwatt.errors import StateError
from clearwatt.service.store.session import Session, upsert

_PUT_FILE = upsert("folders", "parent", "name", "file")
_HERE = "WHERE parent = ? AND name = ?"

Files = Mapping[str, bytes]
"""Contents of the files of a folder, by their paths below it."""


def put(session: Session, path: str, files: Files) -> None:
    """Store a folder; it replaces one of the same path.

    Two nodes may write one path at once, the same state: the later one replaces the earlier.
    """
    for (file,) in session.rows(f"SELECT file FROM folders {_HERE}", *_split(path)):
        if file not in files:
            session.run(f"DELETE FROM folders {_HERE} AND file = ?", *_split(path), file)
    for file, content in sorted(files.items()):
        row = (*_split(path), file, content, _checksum(content))
        session.insert_rows(_PUT_FILE, [row])


def get(session: Session, path: str) -> dict[str, bytes]:
    """The files of a folder, none if there is no such; StateError if one was altered."""
    found = {}
    sql = f"SELECT file, content, checksum FROM folders {_HERE}"
    for file, content, checksum in session.rows(sql, *_split(path)):
        found[file] = bytes(content)
        if _checksum(found[file]) != checksum:
            raise StateError(f"{path}/{file} is damaged in the database (its checksum differs)")
    return found


def existing(session: Session, paths: Collection[str]) -> set[str]:
    """The paths at which there is a folder."""
    split = [_split(path) for path in paths]
    given = session.value_table(
        texts={"parent": [each[0] for each in split], "name": [each[1] for each in split]}
    )
    rows = session.rows(
        f"SELECT given.parent, given.name FROM {given.sql} WHERE EXISTS (SELECT 1 FROM folders "
        "WHERE folders.parent = given.parent AND folders.name = given.name)",
        *given.values,
    )
    return {f"{parent}/{name}" for parent, name in rows}


def names(session: Session, parent: str) -> list[str]:
    """Names of the folders directly below a parent."""
    rows = session.rows("SELECT DISTINCT name FROM folders WHERE parent = ?", parent)
    return sorted(name for (name,) in rows)


def remove(session: Session, path: str) -> None:
    """Delete a folder, if there is one."""
    session.run(f"DELETE FROM folders {_HERE}", *_split(path))


def move(session: Session, path: str, target: str) -> None:
    """Rename a folder; it replaces one of that name."""
    remove(session, target)
    session.run(f"UPDATE folders SET parent = ?, name = ? {_HERE}", *_split(target), *_split(path))


def _split(path: str) -> tuple[str, str]:
    parent, _, name = path.rpartition("/")
    return parent, name


def _checksum(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
