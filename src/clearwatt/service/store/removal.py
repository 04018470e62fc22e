"""Renaming and deletion of zones and entities.

A transaction deletes what people see and what the store owns. The learner forgets an entity when it
reaches the command in the journal, and deletes files; readings are deleted afterwards, in parts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

from clearwatt.clock import SECONDS_PER_DAY
from clearwatt.errors import DataError
from clearwatt.service.records import Command, RegisteredEntity, RemovedEntity, ServiceEvent, Zone
from clearwatt.service.store import events, journal, registry, revisions, signal_days
from clearwatt.service.store.counters import lock_counter, set_counter
from clearwatt.service.store.schema import CHUNK
from clearwatt.service.store.session import Session

CHUNKS_AT_ONCE = 400
"""Chunks of readings of an entity that one transaction deletes."""
_OF_ZONE = (
    *("statuses", "signals", "intervals", "deployed", "latest", "versions", "weather", "journal"),
    *("journals", "removed_entities", "entities"),
)
"""Tables whose rows belong to a zone, each before those that it refers to."""


def rename(
    session: Session, table: Literal["zones", "entities"], identity: str, *, name: str
) -> str:
    """Change the name that people see; returns the one before."""
    found = session.rows(f"SELECT name FROM {table} WHERE id = ?", identity)
    if not found:
        raise DataError(f"there is no {identity!r} in the {table}; it may have been deleted")
    session.run(f"UPDATE {table} SET name = ? WHERE id = ?", name, identity)
    revisions.advance(session, "registry")
    return str(found[0][0])


def remove_entity(session: Session, entity: RegisteredEntity, *, actor: str, at: float) -> int:
    """Delete an entity and append the command for the learner; returns the command's number."""
    journal.lock_journals(session, [entity.zone])
    arguments = {"number": entity.number}
    seq = journal.add_command(
        session, Command("delete", entity.zone, entity.id, arguments, actor, at)
    )
    session.run(
        "INSERT INTO removed_entities (number, id, zone, kind, capacity, unit, name, extra, seq) "
        "SELECT number, id, zone, kind, capacity, unit, name, extra, CAST(? AS BIGINT) "
        "FROM entities WHERE number = ?",
        seq,
        entity.number,
    )
    if not session.run("DELETE FROM entities WHERE number = ?", entity.number):
        raise DataError(f"there is no entity {entity.id!r}; it may have been deleted")
    _remove_answers(session, [entity])
    _free_keys(session, "zone = ? AND entity = ?", entity.zone, entity.id, position=seq)
    _extend_to_signals(session, entity)
    revisions.advance(session, "registry", "removals")  # last: it locks a row that all share
    return seq


def remove_zone(session: Session, zone: Zone, *, actor: str, at: float) -> list[RegisteredEntity]:
    """Delete a zone with its entities; returns these."""
    base = journal.lock_journals(session, [zone.id])[zone.id].head + 1
    members = registry.entities(session, zone.id)
    _remove_answers(session, members)
    session.run(
        "INSERT INTO removed_files SELECT DISTINCT path FROM versions WHERE zone = ? "
        "ON CONFLICT DO NOTHING",
        zone.id,
    )
    for table in _OF_ZONE:
        session.run(f"DELETE FROM {table} WHERE zone = ?", zone.id)
    session.run("DELETE FROM zones WHERE id = ?", zone.id)
    session.run(
        "INSERT INTO removed_zones (zone, seq) VALUES (?, ?) "
        "ON CONFLICT (zone) DO UPDATE SET seq = excluded.seq",
        zone.id,
        base,
    )
    _free_keys(session, "zone = ?", zone.id, position=base)
    names = [member.id for member in members]
    events.record(session, [_zone_event(zone, names, base, actor=actor, at=at)])
    revisions.advance(session, "registry", "removals")  # last: it locks a row that all share
    return members


def finish_entity(session: Session, zone: str, entity: RemovedEntity) -> None:
    """Delete what the learner has stored of an entity, once it has forgotten it."""
    own = "(entity = ? OR entity IS NULL)" if entity.last else "entity = ?"
    session.run(
        "INSERT INTO removed_files SELECT DISTINCT path FROM versions "
        f"WHERE zone = ? AND {own} ON CONFLICT DO NOTHING",
        zone,
        entity.id,
    )
    session.run(f"DELETE FROM versions WHERE zone = ? AND {own}", zone, entity.id)
    _free_keys(session, "zone = ? AND entity = ?", zone, entity.id, position=entity.seq)
    if entity.last:
        shared = "zone = ? AND entity IS NULL AND key LIKE ?"
        _free_keys(session, shared, zone, "update:%", position=entity.seq)


def rename_keys(
    recorded: Sequence[ServiceEvent], removed: Sequence[RegisteredEntity], position: int
) -> list[ServiceEvent]:
    """Events up to a position of the journal; keys of entities deleted later are changed.

    The same id may be an entity of another zone by now, which needs these keys.
    """
    later = {each.id: each.removed_at for each in removed if (each.removed_at or 0) > position}
    return [
        replace(event, key=f"{event.key} until {later[event.entity]}")
        if event.entity in later and " until " not in event.key
        else event
        for event in recorded
    ]


def removed_entities(session: Session, zone: str) -> list[RegisteredEntity]:
    """Deleted entities of a zone, which its journal still tells of."""
    rows = session.rows(
        "SELECT id, zone, kind, capacity, unit, name, extra, number, seq FROM removed_entities "
        "WHERE zone = ? ORDER BY number",
        zone,
    )
    return [registry.entity_of(row[:-1], removed_at=row[-1]) for row in rows]


def unforgotten_entities(session: Session) -> set[int]:
    """Numbers of deleted entities that the learner has yet to forget."""
    rows = session.rows(
        "SELECT r.number FROM removed_entities r LEFT JOIN statuses s ON s.zone = r.zone "
        "WHERE r.seq > COALESCE(s.position, 0)"
    )
    return {number for (number,) in rows}


def journal_bases(session: Session) -> Mapping[str, int]:
    """Number after which the journal of a zone begins that was registered again."""
    return dict(session.rows("SELECT zone, seq FROM removed_zones"))


def unused_files(session: Session) -> list[str]:
    """Paths of model files of deleted versions."""
    rows = session.rows(
        "SELECT path FROM removed_files WHERE path NOT IN (SELECT path FROM versions)"
    )
    return [row[0] for row in rows]


def note_files(session: Session, paths: Sequence[str]) -> None:
    """Note files that no version needs, so that they are deleted."""
    if not paths:
        return
    given = session.value_table(texts={"path": paths})
    session.run(
        f"INSERT INTO removed_files SELECT given.path FROM {given.sql} WHERE true "
        "ON CONFLICT DO NOTHING",
        *given.values,
    )


def forget_files(session: Session, paths: Sequence[str]) -> None:
    """Note that files are deleted, and that others are in use again."""
    given = session.value_table(texts={"path": paths})
    session.run(
        f"DELETE FROM removed_files WHERE path IN (SELECT given.path FROM {given.sql}) "
        "OR path IN (SELECT path FROM versions)",
        *given.values,
    )


def remove_readings(session: Session) -> bool:
    """Delete some readings of deleted entities; whether there may be more."""
    found = session.rows(
        "SELECT entity, first, last FROM extents "
        "WHERE entity NOT IN (SELECT number FROM entities) LIMIT 1"
    )
    if not found:
        return False
    ((entity, first, last),) = found
    until = min(last, first + CHUNKS_AT_ONCE - 1)
    _remove_signals(session, entity, first=first, until=until)
    given = session.value_table(numbers={"chunk": range(first, until + 1)})
    count = session.run(
        f"DELETE FROM readings WHERE chunk IN (SELECT given.chunk FROM {given.sql}) AND entity = ?",
        *given.values,
        entity,
    )
    session.run(
        "UPDATE journals SET readings = readings - ? WHERE zone = "
        "(SELECT zone FROM removed_entities WHERE number = ?)",
        count,
        entity,
    )
    if until == last:
        session.run("DELETE FROM extents WHERE entity = ?", entity)
    else:
        session.run("UPDATE extents SET first = ? WHERE entity = ?", until + 1, entity)
    return True


def _remove_answers(session: Session, entities: Sequence[RegisteredEntity]) -> None:
    """Delete recorded forecasts of entities, and take their readings out of quarantine."""
    count = lock_counter(session, "vintages")
    ids = session.value_table(texts={"id": [entity.id for entity in entities]})
    removed = session.run(
        f"DELETE FROM vintages WHERE entity IN (SELECT given.id FROM {ids.sql})", *ids.values
    )
    set_counter(session, "vintages", count - removed)
    numbers = session.value_table(numbers={"number": [entity.number for entity in entities]})
    session.run(
        "UPDATE readings SET flag = 3 WHERE flag = 1 AND entity IN "
        f"(SELECT given.number FROM {numbers.sql})",
        *numbers.values,
    )


def _extend_to_signals(session: Session, entity: RegisteredEntity) -> None:
    """Let the extent of its readings reach to the newest signals, which are deleted with them."""
    ((newest,),) = session.rows("SELECT MAX(day) FROM signals WHERE zone = ?", entity.zone)
    if newest is not None:
        last = (newest + SECONDS_PER_DAY - 1) // CHUNK
        session.run(
            "UPDATE extents SET last = ? WHERE entity = ? AND last < ?", last, entity.number, last
        )


def _remove_signals(session: Session, number: int, *, first: int, until: int) -> None:
    """Delete the forecasts of a deleted entity from the signals of some chunks of time."""
    zones = session.rows("SELECT zone FROM removed_entities WHERE number = ?", number)
    for (zone,) in zones:  # none if the zone was deleted, with all of its signals
        journal.lock_journals(session, [zone])
        start, end = first * CHUNK, (until + 1) * CHUNK
        signal_days.remove_entity(session, zone, number, start=start, end=end)


def _free_keys(session: Session, where: str, *values: object, position: int) -> None:
    """Change the keys of events, which another zone or entity with the same id may need."""
    session.run(
        f"UPDATE events SET key = key || ? WHERE {where} AND key NOT LIKE ?",
        f" until {position}",
        *values,
        "% until %",
    )


def _zone_event(
    zone: Zone, names: Sequence[str], seq: int, *, actor: str, at: float
) -> ServiceEvent:
    return ServiceEvent(
        key=f"zone deleted:{zone.id}:{seq}",
        kind="delete",
        message=f"zone {zone.id} was deleted with its {len(names)} entities, their readings, "
        "weather, forecasts and models",
        at=at,
        actor=actor,
        zone=zone.id,
        details={"entities": list(names)},
    )
