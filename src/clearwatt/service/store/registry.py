"""Zones, entities and tokens."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace

from clearwatt.errors import DataError
from clearwatt.service.records import RegisteredEntity, Token, Zone
from clearwatt.service.status import ZoneStatus
from clearwatt.service.store import revisions
from clearwatt.service.store.content import dump_json
from clearwatt.service.store.counters import lock_counter, set_counter
from clearwatt.service.store.errors import ConflictError
from clearwatt.service.store.session import Insert, Row, Session

NEW_ZONE = Insert("zones", "ON CONFLICT DO NOTHING")
NEW_ENTITY = Insert("entities")
NEW_TOKEN = Insert("tokens", "ON CONFLICT DO NOTHING")
ZONES = f"SELECT {', '.join(NEW_ZONE.columns)} FROM zones"
ENTITIES = "SELECT id, zone, kind, capacity, unit, name, extra, number FROM entities"
TOKENS = f"SELECT {', '.join(NEW_TOKEN.columns)} FROM tokens"


def add_zone(session: Session, zone: Zone) -> bool:
    """Register a zone with an empty journal."""
    variables, settings = dump_json(zone.variables), dump_json(zone.settings)
    row = NEW_ZONE.row(zone, variables=variables, settings=settings)
    if session.run(NEW_ZONE.sql, *row):
        # One that was deleted continues its numbers, so that nothing of before fits.
        found = session.rows("SELECT seq FROM removed_zones WHERE zone = ?", zone.id)
        head = found[0][0] if found else 0
        session.run("INSERT INTO journals VALUES (?, ?, 0, 0, 0)", zone.id, head)
        if head:
            status = dump_json(ZoneStatus(zone.id, removed=head).to_json())
            session.run("INSERT INTO statuses VALUES (?, ?, 0, ?)", zone.id, head, status)
        revisions.advance(session, "registry")
        return True
    known = _zone(session.rows(f"{ZONES} WHERE id = ?", zone.id)[0])
    if _as_stored(known) != _as_stored(zone):
        raise ConflictError(
            f"zone {zone.id!r} exists and differs: {known} is registered; "
            "send it as it is, or choose another id"
        )
    return False


def zones(session: Session) -> list[Zone]:
    """All zones, by id."""
    found = (_zone(row) for row in session.rows(ZONES))
    return sorted(found, key=lambda zone: zone.id)


def add_entities(session: Session, entities: Sequence[RegisteredEntity]) -> list[RegisteredEntity]:
    """Register entities; numbers ascend in the given order and are never reused."""
    taken = lock_counter(session, "entities")
    known = {entity.id: entity for entity in _entities_by_id(session, [e.id for e in entities])}
    _require_zones(session, {entity.zone for entity in entities})
    new: list[RegisteredEntity] = []
    for entity in entities:
        registered = known.get(entity.id)
        if registered is None:
            registered = replace(entity, number=taken + len(new))
            known[entity.id] = registered
            new.append(registered)
        _require_equal(registered, entity)
    if new:
        rows = [NEW_ENTITY.row(entity, extra=dump_json(entity.extra)) for entity in new]
        session.insert_rows(NEW_ENTITY, rows)
        set_counter(session, "entities", taken + len(new))
        revisions.advance(session, "registry")
    return [known[entity.id] for entity in entities]


def entities(session: Session, zone: str | None) -> list[RegisteredEntity]:
    """All entities, or a zone's, in order of their numbers."""
    if zone is None:
        rows = session.rows(f"{ENTITIES} ORDER BY number")
    else:
        rows = session.rows(f"{ENTITIES} WHERE zone = ? ORDER BY number", zone)
    return [entity_of(row) for row in rows]


def add_token(session: Session, token: Token) -> None:
    """Store a token's hash."""
    if not session.run(NEW_TOKEN.sql, *NEW_TOKEN.row(token)):
        raise ConflictError(f"there is a token {token.id!r} already; choose another id")
    _note_token(session)


def tokens(session: Session) -> list[Token]:
    """All tokens, the oldest first."""
    return [Token(*row) for row in session.rows(f"{TOKENS} ORDER BY created_at, id")]


def remove_token(session: Session, token: str) -> bool:
    """Delete a token by id."""
    removed = session.run("DELETE FROM tokens WHERE id = ?", token) > 0
    if removed:
        _note_token(session)  # one of an earlier release, which did not note it
    return removed


def tokens_existed(session: Session) -> bool:
    """Whether a token exists or ever did."""
    noted = "SELECT 1 FROM counters WHERE name = 'tokens'"
    return bool(session.rows(f"SELECT 1 FROM tokens UNION {noted}"))


def _note_token(session: Session) -> None:
    """Note that a token existed, so that the service stays closed once all are revoked."""
    session.run(
        "INSERT INTO counters (name, value) VALUES ('tokens', 1) ON CONFLICT (name) DO NOTHING"
    )


def _zone(row: Row) -> Zone:
    identity, step, variables, timezone, name, settings = row
    return Zone(identity, step, tuple(json.loads(variables)), timezone, name, json.loads(settings))


def _as_stored(zone: Zone) -> Zone:
    """A zone as it is compared: settings as JSON returns them, and no name, which may change."""
    return replace(zone, name="", settings=json.loads(dump_json(zone.settings)))


def _entities_by_id(session: Session, ids: Sequence[str]) -> Iterable[RegisteredEntity]:
    given = session.value_table(texts={"id": ids})
    sql = f"{ENTITIES} WHERE id IN (SELECT given.id FROM {given.sql})"
    return map(entity_of, session.rows(sql, *given.values))


def _require_zones(session: Session, wanted: set[str]) -> None:
    unknown = sorted(wanted - {zone.id for zone in zones(session)})
    if unknown:
        raise DataError(f"there is no zone {unknown[0]!r}; register it before its entities")


def _require_equal(registered: RegisteredEntity, entity: RegisteredEntity) -> None:
    if replace(registered, number=-1, name="") != replace(entity, number=-1, name=""):
        raise ConflictError(
            f"entity {entity.id!r} exists and differs: {registered} is registered; "
            "send it as it is, or choose another id"
        )


def entity_of(row: Row, *, removed_at: int | None = None) -> RegisteredEntity:
    """The entity of a row of `ENTITIES`."""
    identity, zone, kind, capacity, unit, name, extra, number = row
    return RegisteredEntity(
        identity, zone, kind, capacity, unit, name, json.loads(extra), number, removed_at
    )
