"""Counters that grow in the order in which transactions commit."""

from __future__ import annotations

from typing import Literal

from clearwatt.service.store.session import Session

Counter = Literal["entities", "events", "vintages", "priors"]


def lock_counter(session: Session, name: Counter) -> int:
    """Lock a counter until the transaction ends and return its value.

    Without the lock, a reader that continues after the highest number it has seen could miss a
    lower one that is committed later.
    """
    sql = f"SELECT value FROM counters WHERE name = ? {session.locking}"
    return int(session.rows(sql, name)[0][0])


def set_counter(session: Session, name: Counter, value: int) -> None:
    """Set a locked counter."""
    session.run("UPDATE counters SET value = ? WHERE name = ?", value, name)
