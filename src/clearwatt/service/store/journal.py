"""The journals: accepted input, numbered per zone in the order of acceptance."""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from clearwatt.clock import SECONDS_PER_DAY
from clearwatt.errors import DataError
from clearwatt.service.records import Command, Entry, ServiceEvent, WeatherIssue
from clearwatt.service.store import events
from clearwatt.service.store.checksums import check, entry_checksum, weather_checksum
from clearwatt.service.store.content import (
    dump_command,
    dump_weather,
    load_command,
    load_readings,
    load_weather,
)
from clearwatt.service.store.errors import UnregisteredZoneError
from clearwatt.service.store.session import Insert, Row, Session, upsert

ADVANCE = upsert("journals", "zone")
LATELY = 32 * SECONDS_PER_DAY
"""Seconds; entries that a learner has yet to read were nearly always accepted within these."""
_ENTRIES = (
    "SELECT journal.seq, journal.kind, journal.content, journal.at, journal.checksum, "
    "weather.issued_at, weather.steps, weather.content, weather.checksum FROM journal "
    "LEFT JOIN weather ON weather.zone = journal.zone AND weather.seq = journal.seq "
    "WHERE journal.zone = ? AND journal.seq > ?"
)


@dataclass(frozen=True, slots=True)
class Journal:
    """The counters of a zone's journal: last number, readings and issues, last archived one."""

    zone: str
    head: int
    readings: int
    issues: int
    archive_end: int


def lock_journals(session: Session, zones: Collection[str]) -> dict[str, Journal]:
    """Lock the journals of zones until the transaction ends and return them.

    The lock makes the order of numbers the order of commits. Journals are locked in order of the
    zones' ids, which avoids deadlocks.
    """
    given = session.value_table(texts={"zone": sorted(zones)})
    found = session.rows(
        "SELECT zone, head, readings, issues, archive_end FROM journals WHERE zone IN "
        f"(SELECT given.zone FROM {given.sql}) ORDER BY zone {session.locking}",
        *given.values,
    )
    journals = {row[0]: Journal(*row) for row in found}
    for zone in zones:
        if zone not in journals:
            raise UnregisteredZoneError(f"there is no zone {zone!r}; register it first")
    return journals


@dataclass(frozen=True, slots=True)
class Addition:
    """An entry to append to a journal; the content of weather is in its own table."""

    journal: Journal
    kind: str
    content: bytes | None
    at: float
    readings: int = 0
    issues: int = 0

    def resulting_journal(self) -> Journal:
        """The journal after this entry."""
        return replace(
            self.journal,
            head=self.journal.head + 1,
            readings=self.journal.readings + self.readings,
            issues=self.journal.issues + self.issues,
        )


def append(session: Session, additions: Sequence[Addition]) -> None:
    """Append entries to locked journals; several of one journal build on each other, in order."""
    if not additions:
        return
    after = [addition.resulting_journal() for addition in additions]
    last = {journal.zone: ADVANCE.row(journal) for journal in after}
    session.insert_rows(ADVANCE, list(last.values()))
    entry = Insert("journal")
    session.insert_rows(
        entry,
        [
            entry.row(
                addition,
                zone=journal.zone,
                seq=journal.head,
                checksum=entry_checksum(addition.kind, addition.content, addition.at),
            )
            for journal, addition in zip(after, additions, strict=True)
        ],
    )


def add_command(session: Session, command: Command) -> int:
    """Append a command and return its number."""
    journal = lock_journals(session, [command.zone])[command.zone]
    addition = Addition(journal, "command", dump_command(command), at=command.at)
    append(session, [addition])
    return addition.resulting_journal().head


def add_weather(session: Session, issue: WeatherIssue, *, at: float) -> bool:
    """Append an issue unless it is stored; one that replaces a stored issue leaves an event."""
    journal = lock_journals(session, [issue.zone])[issue.zone]
    content = dump_weather(_check_weather(session, issue))
    known = session.rows(
        "SELECT seq, content FROM weather WHERE zone = ? AND issued_at = ? "
        "ORDER BY seq DESC LIMIT 1",
        issue.zone,
        issue.issued_at,
    )
    if known and bytes(known[0][1]) == content:
        return False
    addition = Addition(journal, "weather", None, at=at, issues=0 if known else 1)
    append(session, [addition])
    seq = addition.resulting_journal().head
    first, last = int(issue.times[0]), int(issue.times[-1])
    steps = len(issue.times)
    checksum = weather_checksum(seq, issue.issued_at, steps, content)
    row = (issue.zone, seq, issue.issued_at, first, last, steps, content, checksum)
    session.insert_rows(Insert("weather"), [row])
    if known:
        events.record(session, [_replacement_event(issue, seq=seq, before=known[0][0], at=at)])
    return True


def entries(session: Session, zone: str, *, after: int, limit: int) -> list[Entry]:
    """Entries after a number, in order."""
    rows = _newest_rows(session, zone, after, limit) if session.partitioned else None
    if rows is None:
        rows = session.rows(f"{_ENTRIES} ORDER BY journal.seq LIMIT ?", zone, after, limit)
    return [entry_of(zone, row) for row in rows]


def _newest_rows(session: Session, zone: str, after: int, limit: int) -> list[Row] | None:
    """Rows after a number if they were accepted lately, from few partitions; None: not all were.

    Numbers have no gaps, so a run that begins after the number and ends with the last one, or with
    the limit, is complete, whatever the clocks of those who accepted it.
    """
    ((head,),) = session.rows("SELECT MAX(head) FROM journals WHERE zone = ?", zone)
    if head is None or head <= after:
        return []
    now = time.time()
    rows = session.rows(
        f"{_ENTRIES} AND journal.at BETWEEN ? AND ? ORDER BY journal.seq LIMIT ?",
        *(zone, after, now - LATELY, now + SECONDS_PER_DAY, limit),
    )
    last = min(head, after + limit)
    is_complete = len(rows) >= last - after and rows[last - after - 1][0] == last
    return rows[: last - after] if is_complete else None


def heads(session: Session) -> dict[str, int]:
    """The last number of each zone."""
    return {row[0]: row[1] for row in session.rows("SELECT zone, head FROM journals")}


def weather(
    session: Session, zone: str, *, start: int, end: int, until: int | None
) -> list[WeatherIssue]:
    """Issues that overlap a time span, each as of a journal number."""
    known = "" if until is None else "AND {}.seq <= ?"
    bound = () if until is None else (until,)
    rows = session.rows(
        "SELECT w.seq, w.issued_at, w.steps, w.content, w.checksum FROM weather w "
        f"WHERE w.zone = ? AND w.last >= ? AND w.first < ? {known.format('w')} AND NOT EXISTS "
        "(SELECT 1 FROM weather newer WHERE newer.zone = w.zone AND newer.issued_at = w.issued_at "
        f"AND newer.seq > w.seq {known.format('newer')}) ORDER BY w.issued_at",
        zone,
        start,
        end,
        *bound,
        *bound,
    )
    return [_issue(zone, row) for row in rows]


def weather_spans(session: Session, zone: str) -> list[tuple[int, int]]:
    """First and last time of each issue."""
    rows = session.rows("SELECT first, last FROM weather WHERE zone = ?", zone)
    return [(first, last) for first, last in rows]


def newest_issue(session: Session, zone: str, *, reaching: int) -> int | None:
    """Issue time of the newest issue that has values at a time or later."""
    found = session.rows(
        "SELECT MAX(issued_at) FROM weather WHERE zone = ? AND last >= ?", zone, reaching
    )
    newest: int | None = found[0][0]
    return newest


def entry_of(zone: str, row: Row) -> Entry:
    """The entry of a row of the journal with its columns of weather."""
    seq, kind, content, at, checksum, *weather = row
    check(f"entry {seq} of zone {zone}", checksum, entry_checksum(kind, content, at))
    if kind == "readings":
        return Entry(seq, zone, load_readings(content), at)
    if kind == "command":
        return Entry(seq, zone, load_command(zone, content), at)
    return Entry(seq, zone, _issue(zone, (seq, *weather)), at)


def _issue(zone: str, row: Row) -> WeatherIssue:
    seq, issued_at, steps, content, checksum = row
    expected = weather_checksum(seq, issued_at, steps, content)
    check(f"the weather of entry {seq} of zone {zone}", checksum, expected)
    return load_weather(zone, seq=seq, issued_at=issued_at, steps=steps, content=content)


def _check_weather(session: Session, issue: WeatherIssue) -> WeatherIssue:
    (text,) = session.rows("SELECT variables FROM zones WHERE id = ?", issue.zone)[0]
    shape = (len(issue.times), len(json.loads(text)))
    if len(issue.times) == 0 or issue.values.shape != shape:
        raise DataError(
            f"weather of zone {issue.zone!r} has values of shape {issue.values.shape}; "
            f"its times and variables ask for {shape}, with at least one time"
        )
    if np.any(np.diff(issue.times) <= 0):
        raise DataError(f"weather of zone {issue.zone!r}: its times must ascend, each one once")
    return issue


def _replacement_event(issue: WeatherIssue, *, seq: int, before: int, at: float) -> ServiceEvent:
    return ServiceEvent(
        key=f"weather:{issue.zone}:{seq}",
        kind="correction",
        message=f"the weather issue of zone {issue.zone} was sent again with other content",
        at=at,
        zone=issue.zone,
        time=issue.issued_at,
        details={"issued_at": issue.issued_at, "before": before, "after": seq},
    )
