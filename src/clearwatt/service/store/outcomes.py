"""Outcomes of learning: statuses, versions, signals, intervals, with their events and verdicts."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic_core import from_json

from clearwatt.clock import SECONDS_PER_DAY
from clearwatt.errors import DataError
from clearwatt.service.records import (
    DeployedSnapshot,
    IntervalSnapshot,
    Outcome,
    SignalDay,
    StatusStamp,
    StoredVersion,
    VersionStatus,
)
from clearwatt.service.status import ZoneStatus
from clearwatt.service.store import events, journal, leases, readings, removal, signal_days
from clearwatt.service.store.content import dump_json
from clearwatt.service.store.errors import UnregisteredZoneError
from clearwatt.service.store.session import Session, upsert

PUT_STATUS = upsert("statuses", "zone")
PUT_SIGNALS = upsert("signals", "zone", "day")
PUT_INTERVALS = upsert("intervals", "zone")
PUT_DEPLOYED = upsert("deployed", "zone")
PUT_VERSION = upsert("versions", "id")
VERSIONS = f"SELECT {', '.join(PUT_VERSION.columns)} FROM versions"
_NOT_DELETED = (
    "NOT EXISTS (SELECT 1 FROM removed_entities r LEFT JOIN statuses s ON s.zone = r.zone "
    "WHERE r.zone = versions.zone AND r.id = versions.entity AND r.seq > COALESCE(s.position, 0))"
)
"""Condition: not of an entity whose deletion the learner has yet to reach."""


def dump_status(status: ZoneStatus) -> str:
    """A status as JSON; that of a large zone takes milliseconds."""
    return dump_json(status.to_json())


def commit(session: Session, outcome: Outcome, *, content: str, fence: int | None) -> None:
    """Record an outcome, whose status is ``content``; it becomes visible with the commit."""
    status = outcome.status
    journal.lock_journals(session, [status.zone])
    if fence is not None:
        leases.check_fence(session, status.zone, fence)
    if status.position < removal.journal_bases(session).get(status.zone, 0):
        raise UnregisteredZoneError(
            f"zone {status.zone!r} was deleted, and registered again, meanwhile"
        )
    for entity in outcome.removed:
        removal.finish_entity(session, status.zone, entity)
    removal.note_files(session, outcome.unused)
    session.insert_rows(PUT_STATUS, [PUT_STATUS.row(status, content=content)])
    _put_versions(session, status.zone, outcome.versions)
    readings.flag(session, outcome.verdicts)
    removed = removal.removed_entities(session, status.zone)
    numbers = [entity.number for entity in removed]
    for day in outcome.signals:
        row = PUT_SIGNALS.row(signal_days.without_entities(day, numbers))
        session.insert_rows(PUT_SIGNALS, [row])
    snapshot = outcome.intervals
    if snapshot is not None:
        entities = dump_json(list(snapshot.entities))
        session.insert_rows(PUT_INTERVALS, [PUT_INTERVALS.row(snapshot, entities=entities)])
    if outcome.deployed is not None:
        _put_deployed(session, outcome.deployed)
    events.record(session, removal.rename_keys(outcome.events, removed, status.position))


def _put_deployed(session: Session, snapshot: DeployedSnapshot) -> None:
    zone, revision, rows = snapshot.zone, snapshot.revision, snapshot.rows
    if snapshot.base is not None:
        session.insert_rows(PUT_DEPLOYED, [PUT_DEPLOYED.row(snapshot, latest=rows)])
        return
    sql = "UPDATE deployed SET revision = ?, latest = ? WHERE zone = ?"
    if not session.run(sql, revision, rows, zone):
        raise DataError(f"zone {zone!r} has published no base for its rows")


def statuses(session: Session, zones: Sequence[str] | None) -> dict[str, ZoneStatus]:
    """The statuses of zones."""
    sql, values = "SELECT zone, position, generation, content FROM statuses", ()
    if zones is not None:
        given = session.value_table(texts={"zone": zones})
        sql, values = f"{sql} WHERE zone IN (SELECT given.zone FROM {given.sql})", given.values
    return {
        # The statuses of all zones are megabytes; pydantic parses them in a third of the time.
        zone: ZoneStatus.from_json(
            from_json(content), zone=zone, position=position, generation=generation
        )
        for zone, position, generation, content in session.rows(sql, *values)
    }


def positions(session: Session) -> dict[str, tuple[int, int]]:
    """Position and generation of each status, without its content."""
    rows = session.rows("SELECT zone, position, generation FROM statuses")
    return {zone: (position, generation) for zone, position, generation in rows}


def stamps(session: Session) -> dict[str, StatusStamp]:
    """What changes with each status, without its content."""
    # An error of learning changes no position, but the length.
    length = f"{session.text_bytes}(content)"
    rows = session.rows(f"SELECT zone, position, generation, {length} FROM statuses")
    return {zone: StatusStamp(*stamp) for zone, *stamp in rows}


def signals(session: Session, zone: str, *, start: int, end: int) -> list[SignalDay]:
    """Signal days that overlap a time span, by day."""
    rows = session.rows(
        "SELECT zone, day, content FROM signals WHERE zone = ? AND day > ? AND day < ? "
        "ORDER BY day",
        zone,
        start - SECONDS_PER_DAY,
        end,
    )
    return [SignalDay(*row) for row in rows]


def intervals(session: Session, zone: str) -> IntervalSnapshot | None:
    """The current quantiles of a zone."""
    rows = session.rows(
        "SELECT zone, revision, entities, content FROM intervals WHERE zone = ?", zone
    )
    for name, revision, entities, content in rows:
        return IntervalSnapshot(name, revision, tuple(from_json(entities)), content)
    return None


def deployed(session: Session, zone: str) -> DeployedSnapshot | None:
    """What an adaptive zone forecasts with, besides its versions."""
    rows = session.rows("SELECT zone, revision, base, latest FROM deployed WHERE zone = ?", zone)
    return DeployedSnapshot(*rows[0]) if rows else None


def versions(
    session: Session,
    *,
    zone: str | None,
    entity: str | None,
    status: VersionStatus | None,
    limit: int,
    offset: int,
    deleted: bool,
) -> list[StoredVersion]:
    """Versions, the newest first; an entity's include the shared ones of its zone."""
    shared = "entity IS NULL AND zone = (SELECT e.zone FROM entities e WHERE e.id = ?)"
    every: list[tuple[str, tuple[object, ...]]] = [
        ("zone = ?", (zone,)),
        (f"(entity = ? OR ({shared}))", (entity, entity)),
        ("status = ?", (status,)),
    ]
    chosen = [(sql, values) for sql, values in every if values[0] is not None]
    if not deleted:
        chosen.append((_NOT_DELETED, ()))
    where = f"WHERE {' AND '.join(sql for sql, _ in chosen)}" if chosen else ""
    values = [value for _, group in chosen for value in group]
    order = "ORDER BY at DESC, number DESC, id LIMIT ? OFFSET ?"
    rows = session.rows(f"{VERSIONS} {where} {order}", *values, limit, offset)
    return [StoredVersion(*row) for row in rows]


def version(session: Session, identity: str) -> StoredVersion | None:
    """One version by id."""
    rows = session.rows(f"{VERSIONS} WHERE id = ?", identity)
    return StoredVersion(*rows[0]) if rows else None


def mark_version(session: Session, identity: str, status: VersionStatus) -> None:
    """Change a version's status."""
    if not session.run("UPDATE versions SET status = ? WHERE id = ?", status, identity):
        raise DataError(f"there is no version {identity!r}")


def move_version(session: Session, identity: str, path: str) -> None:
    """Change the path of a version's files."""
    if not session.run("UPDATE versions SET path = ? WHERE id = ?", path, identity):
        raise DataError(f"there is no version {identity!r}")


def _put_versions(session: Session, zone: str, versions: Sequence[StoredVersion]) -> None:
    """Store versions; of an entity that was deleted meanwhile, only that its files are unused.

    Its id may belong to an entity of another zone by now, and so may the ids of its versions.
    """
    if not versions:
        return
    members = {row[0] for row in session.rows("SELECT id FROM entities WHERE zone = ?", zone)}
    for version in versions:
        if version.entity is None or version.entity in members:
            _put_version(session, version)
        else:
            removal.note_files(session, [version.path])


def _put_version(session: Session, version: StoredVersion) -> None:
    if version.status in ("deployed", "awaiting"):
        session.run(
            "UPDATE versions SET status = 'superseded' WHERE zone = ? AND component = ? "
            "AND COALESCE(entity, '') = ? AND status = ?",
            version.zone,
            version.component,
            version.entity or "",
            version.status,
        )
    status = "UPDATE versions SET status = ? WHERE id = ?"
    if not version.at and session.run(status, version.status, version.id):
        return  # it keeps the time at which it was trained
    session.insert_rows(PUT_VERSION, [PUT_VERSION.row(version)])
