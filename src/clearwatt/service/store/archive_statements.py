"""Statements about archived entries: which are, and how others become it.

The entries of a journal up to `archive_end` are in the archive, those after it in the table. Some
of the archived ones may be in both, until a partition of the table is dropped.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile

from clearwatt.errors import StateError
from clearwatt.service.records import Entry
from clearwatt.service.store import journal
from clearwatt.service.store.journal_archive import ArchiveRow, JournalArchive
from clearwatt.service.store.session import Row, Session

_ROWS = "SELECT seq, kind, content, at, checksum FROM journal WHERE zone = ? AND seq"


def spans(session: Session) -> dict[str, tuple[int, int]]:
    """First and last archived entry of each zone that has one."""
    rows = session.rows(
        "SELECT j.zone, COALESCE(r.seq, 0) + 1, j.archive_end FROM journals j "
        "LEFT JOIN removed_zones r ON r.zone = j.zone WHERE j.archive_end > 0"
    )
    return {zone: (first, last) for zone, first, last in rows}


def span(session: Session, zone: str) -> tuple[int, int]:
    """The first number of a zone's journal, and the last archived one; 0: none is archived."""
    rows = session.rows(
        "SELECT COALESCE(r.seq, 0) + 1, j.archive_end FROM journals j "
        "LEFT JOIN removed_zones r ON r.zone = j.zone WHERE j.zone = ?",
        zone,
    )
    return rows[0] if rows else (1, 0)


def require(archive: JournalArchive | None, zone: str) -> JournalArchive:
    """The archive; StateError if nobody has said where it is."""
    if archive is None:
        raise StateError(
            f"entries of zone {zone} are archived; open the store with the folder 'archive' of the "
            "service's data directory"
        )
    return archive


def entries(session: Session, zone: str, rows: Sequence[ArchiveRow]) -> list[Entry]:
    """Archived rows as entries; weather is taken from its table."""
    issues = session.rows(
        "SELECT seq, issued_at, steps, content, checksum FROM weather "
        "WHERE zone = ? AND seq >= ? AND seq <= ?",
        zone,
        rows[0].seq,
        rows[-1].seq,
    )
    weather = {seq: tuple(rest) for seq, *rest in issues}
    missing = (None, None, None, None)
    return [journal.entry_of(zone, (*row, *weather.get(row.seq, missing))) for row in rows]


def all_entries(session: Session, zone: str, archive: JournalArchive | None) -> Iterator[Entry]:
    """All archived entries of a zone, in order."""
    first, last = span(session, zone)
    if first <= last:
        for rows in require(archive, zone).portions(zone, first=first, until=last):
            yield from entries(session, zone, rows)


def oldest(
    session: Session, zone: str, *, before: float, until: int, limit: int
) -> list[ArchiveRow]:
    """The oldest rows of the table, up to the first accepted at ``before`` or later."""
    # Archived rows may be left in the table for a while, see `drop`.
    _, end = span(session, zone)
    rows = session.rows(f"{_ROWS} > ? AND seq <= ? ORDER BY seq LIMIT ?", zone, end, until, limit)
    return list(takewhile(lambda row: row.at < before, map(_row, rows)))


def drop(session: Session, zone: str, rows: Sequence[ArchiveRow], *, leave_before: float) -> int:
    """Advance the archive's end over rows, if they are the oldest after it, and delete them.

    Rows accepted before ``leave_before`` stay in the table until their partition is dropped. Rows
    before the end were moved meanwhile by another node of a cluster. Returns the number of others.
    """
    end = journal.lock_journals(session, [zone])[zone].archive_end
    left = [row for row in rows if row.seq > end]
    if not left:
        return 0
    first, last = left[0].seq, left[-1].seq
    stored = session.rows(f"{_ROWS} > ? AND seq <= ? ORDER BY seq", zone, end, last)
    if [_row(each) for each in stored] != left:
        raise StateError(
            f"the entries {first} to {last} of zone {zone} are not those of the archive; nothing "
            "was deleted: move the file away, and a new one is written"
        )
    session.run(
        "DELETE FROM journal WHERE zone = ? AND seq <= ? AND at >= ?", zone, last, leave_before
    )
    session.run("UPDATE journals SET archive_end = ? WHERE zone = ?", last, zone)
    return len(left)


def _row(row: Row) -> ArchiveRow:
    seq, kind, content, at, checksum = row
    return ArchiveRow(seq, kind, None if content is None else bytes(content), at, checksum)
