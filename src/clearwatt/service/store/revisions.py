"""Revisions: numbers that change with something, so that other processes notice it cheaply."""

from __future__ import annotations

from typing import Literal

from clearwatt.service.store.session import Session

Revision = Literal["registry", "removals"]
"""``registry``: zones and entities; ``removals``: deletions among them."""


def advance(session: Session, *names: Revision) -> None:
    """Note a change; the row is locked until the transaction ends."""
    for name in names:
        session.run("UPDATE revisions SET value = value + 1 WHERE name = ?", name)


def current(session: Session, name: Revision) -> int:
    """The number of the last change."""
    return int(session.rows("SELECT value FROM revisions WHERE name = ?", name)[0][0])
