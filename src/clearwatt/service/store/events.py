"""Events, numbered in the order in which they were recorded."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from clearwatt.service.records import ServiceEvent
from clearwatt.service.store.content import dump_json
from clearwatt.service.store.counters import lock_counter, set_counter
from clearwatt.service.store.session import Insert, Row, Session

NEW = Insert("events")
EVENTS = "SELECT key, kind, message, at, actor, zone, entity, time, details, seq FROM events"
SHARED = (
    "seq IN (SELECT own.seq FROM entities e JOIN events own ON own.entity = e.id OR "
    "(own.zone = e.zone AND own.entity IS NULL) WHERE e.id = ?)"
)
"""Condition: events of an entity or of its whole zone."""


@dataclass(frozen=True, slots=True)
class EventSelection:
    """Filter of events; None: no condition (see `Store.events`)."""

    zone: str | None = None
    entity: str | None = None
    kinds: Sequence[str] | None = None
    start: float | None = None
    end: float | None = None
    after: int | None = None
    before: int | None = None
    limit: int = 100
    shared: bool = False

    def conditions(self) -> list[tuple[str, object]]:
        """Each condition with its value."""
        every = [
            ("zone = ?", self.zone),
            (SHARED if self.shared else "entity = ?", self.entity),
            ("at >= ?", self.start),
            ("at < ?", self.end),
            ("seq > ?", self.after),
            ("seq < ?", self.before),
        ]
        return [(sql, value) for sql, value in every if value is not None]


def record(session: Session, events: Sequence[ServiceEvent]) -> None:
    """Number and insert the events whose key is new."""
    if not events:
        return
    last = lock_counter(session, "events")
    given = session.value_table(texts={"key": [event.key for event in events]})
    sql = f"SELECT key FROM events WHERE key IN (SELECT given.key FROM {given.sql})"
    known = {key for (key,) in session.rows(sql, *given.values)}
    new = {event.key: event for event in reversed(events) if event.key not in known}
    if new:
        numbered = enumerate(reversed(new.values()), start=last + 1)
        rows = [
            NEW.row(event, seq=seq, details=dump_json(event.details)) for seq, event in numbered
        ]
        session.insert_rows(NEW, rows)
        set_counter(session, "events", last + len(new))


def find(session: Session, wanted: EventSelection) -> list[ServiceEvent]:
    """Events, the newest first, or the oldest first if ``after`` is given."""
    found = wanted.conditions()
    conditions, values = [sql for sql, _ in found], [value for _, value in found]
    if wanted.kinds is not None:
        given = session.value_table(texts={"kind": wanted.kinds})
        conditions.append(f"kind IN (SELECT given.kind FROM {given.sql})")
        values += given.values
    where = f"WHERE {' AND '.join(conditions)}" if conditions else ""
    order = "ASC" if wanted.after is not None else "DESC"
    rows = session.rows(f"{EVENTS} {where} ORDER BY seq {order} LIMIT ?", *values, wanted.limit)
    return [_event(row) for row in rows]


def _event(row: Row) -> ServiceEvent:
    key, kind, message, at, actor, zone, entity, time, details, seq = row
    return ServiceEvent(key, kind, message, at, actor, zone, entity, time, json.loads(details), seq)
