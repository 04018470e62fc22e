"""Search for rows that are not what was written, and readings again from the journal."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

import numpy as np

from clearwatt.service.records import READING, Command, Entry, Readings
from clearwatt.service.store import archive_statements, journal, priors
from clearwatt.service.store.checksums import wrong_readings
from clearwatt.service.store.errors import StoreDamagedError
from clearwatt.service.store.journal_archive import JournalArchive
from clearwatt.service.store.readings import insert, stored_values
from clearwatt.service.store.schema import CHUNK
from clearwatt.service.store.session import Row, Session

PORTION = 500
"""Journal entries read at a time."""


def find_rot(session: Session) -> str | None:
    """The first damaged row of the journal, weather, priors or readings; None: there is none."""
    try:
        priors.check_all(session)
        stored = {version.digest for version in priors.versions(session)}
        for (zone,) in session.rows("SELECT zone FROM journals ORDER BY zone"):
            for entry in _entries(session, zone):
                missing = _named_prior(entry) - stored
                if missing:
                    return f"entry {entry.seq} of zone {zone} names a prior that is not stored"
    except StoreDamagedError as error:
        return str(error)
    for entity, time, *_ in _rotten_readings(session):
        return f"the reading of entity number {entity} at {time} is not what was written"
    return None


def mend_readings(session: Session, archive: JournalArchive | None = None) -> int:
    """Replace rotten readings by those of the journal and return how many were rotten.

    Flags and reasons stay. The journal must be intact, and so must its archive.
    """
    rotten = list(_rotten_readings(session))
    for entity, time, *_ in rotten:
        key = (time // CHUNK, entity, time)
        session.run("DELETE FROM readings WHERE chunk = ? AND entity = ? AND time = ?", *key)
    if not rotten:
        return 0
    for (zone,) in session.rows("SELECT zone FROM journals ORDER BY zone"):
        for readings, at in _missing_readings(session, zone, archive):
            insert(session, readings, at=at)
    for entity, time, flag, reason in rotten:
        session.run(
            "UPDATE readings SET flag = ?, reason = ? WHERE chunk = ? AND entity = ? AND time = ?",
            *(flag, reason, time // CHUNK, entity, time),
        )
    return len(rotten)


def _named_prior(entry: Entry) -> set[str]:
    """The digests of the priors that an entry names: of a start, or of a warm-up."""
    if not isinstance(entry.content, Command):
        return set()
    arguments = entry.content.arguments
    named = {*arguments.get("priors", {}).values(), arguments.get("prior")}
    return {str(digest) for digest in named if digest is not None}


def _entries(session: Session, zone: str, *, after: int = 0) -> Iterator[Entry]:
    while portion := journal.entries(session, zone, after=after, limit=PORTION):
        yield from portion
        after = portion[-1].seq


def _rotten_readings(session: Session) -> Iterator[Row]:
    """Entity, time, flag and reason of readings that are not what was written.

    Chunk by chunk, so that no statement is long.
    """
    sql = (
        "SELECT entity, time, value, checksum, flag, reason FROM readings "
        "WHERE chunk = ? AND checksum IS NOT NULL"
    )
    chunk = session.rows("SELECT MIN(chunk) FROM readings")[0][0]
    while chunk is not None:
        rows = session.rows(sql, chunk)
        if rows:
            entities, times, values, stored, flags, reasons = zip(*rows, strict=True)
            for wrong in np.flatnonzero(wrong_readings(entities, times, values, stored)).tolist():
                yield entities[wrong], times[wrong], flags[wrong], reasons[wrong]
        chunk = session.rows("SELECT MIN(chunk) FROM readings WHERE chunk > ?", chunk)[0][0]


def _missing_readings(
    session: Session, zone: str, archive: JournalArchive | None
) -> Iterator[tuple[Readings, float]]:
    """Readings of the journal that are not stored, each with its last value and arrival."""
    numbers = [row[0] for row in session.rows("SELECT number FROM entities WHERE zone = ?", zone)]
    last: dict[tuple[int, int], tuple[float, float]] = {}
    _, archived = archive_statements.span(session, zone)  # some are left in the table for a while
    for entry in chain(
        archive_statements.all_entries(session, zone, archive),
        _entries(session, zone, after=archived),
    ):
        if not isinstance(entry.content, np.ndarray):
            continue
        members = entry.content[np.isin(entry.content["entity"], numbers)]
        found, _ = stored_values(session, members)
        for reading in members[~found]:
            key = (int(reading["entity"]), int(reading["time"]))
            last[key] = (float(reading["value"]), entry.at)
    for (entity, time), (value, at) in last.items():
        readings = np.empty(1, READING)
        readings["entity"], readings["time"], readings["value"] = entity, time, value
        yield readings, at
