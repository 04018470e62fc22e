"""Forecasts as they were answered."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from clearwatt.service.records import Vintage
from clearwatt.service.store.counters import lock_counter, set_counter
from clearwatt.service.store.session import Insert, Row, Session

NEW = Insert("vintages")
VINTAGES = (
    "SELECT entity, issued_at, weather_issued_at, encoder, predictor, start, step, forecast, "
    "sources, measured_until FROM vintages"
)


def add(session: Session, vintages: Sequence[Vintage]) -> None:
    """Insert forecasts, except those of entities that were deleted meanwhile."""
    # A deletion takes the same lock, so that none ends between the look-up and the insertion.
    count = lock_counter(session, "vintages")
    numbers = {vintage.number for vintage in vintages if vintage.number is not None}
    gone = numbers - _registered(session, sorted(numbers))
    rows = [_row(vintage) for vintage in vintages if vintage.number not in gone]
    if rows:
        session.insert_rows(NEW, rows)
        set_counter(session, "vintages", count + len(rows))


def find(
    session: Session,
    entity: str,
    *,
    start: int,
    end: int,
    issued_before: float | None,
    limit: int,
) -> list[Vintage]:
    """Forecasts that overlap a time span, the newest issue first."""
    issued = "" if issued_before is None else "AND issued_at < ?"
    rows = session.rows(
        f"{VINTAGES} WHERE entity = ? AND start < ? AND stop > ? {issued} "
        "ORDER BY issued_at DESC LIMIT ?",
        entity,
        end,
        start,
        *(() if issued_before is None else (issued_before,)),
        limit,
    )
    return [_vintage(row) for row in rows]


def prune(session: Session, before: float, *, limit: int) -> int:
    """Delete the oldest forecasts issued before a time, ``limit`` at most; returns how many."""
    count = lock_counter(session, "vintages")
    # Not by the issue time alone: an answer about a whole zone has one for thousands of rows.
    removed = session.run(
        f"DELETE FROM vintages WHERE issued_at < ? AND ({session.row_id}) IN "
        f"(SELECT {session.row_id} FROM vintages WHERE issued_at < ? ORDER BY issued_at LIMIT ?)",
        before,
        before,
        limit,
    )
    set_counter(session, "vintages", count - removed)
    return removed


def _registered(session: Session, numbers: Sequence[int]) -> set[int]:
    given = session.value_table(numbers={"number": numbers})
    sql = f"SELECT number FROM entities WHERE number IN (SELECT given.number FROM {given.sql})"
    return {row[0] for row in session.rows(sql, *given.values)}


def _row(vintage: Vintage) -> Row:
    return NEW.row(
        vintage,
        stop=vintage.start + vintage.step * len(vintage.values),
        forecast=vintage.values.astype("<f4").tobytes(),
        sources=vintage.sources.astype(np.uint8).tobytes(),
    )


def _vintage(row: Row) -> Vintage:
    entity, issued_at, weather, encoder, predictor, start, step, forecast, sources, known = row
    return Vintage(
        entity=entity,
        issued_at=issued_at,
        weather_issued_at=weather,
        encoder=encoder,
        predictor=predictor,
        start=start,
        step=step,
        values=np.frombuffer(forecast, dtype="<f4"),
        sources=np.frombuffer(sources, dtype=np.uint8),
        measured_until=known,
    )
