"""Journals with old entries, and what is left of them after archiving."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from clearwatt.service.files import Checkpoints
from clearwatt.service.records import READING, Command, Entry, RegisteredEntity, WeatherIssue, Zone
from clearwatt.service.store import Store, ingest, journal, open_store
from clearwatt.service.store.ingest import EntityCache
from clearwatt.service.store.journal_archive import ARCHIVE

STEP, DAY = 900, 86_400
NOW = 1_717_200_000  # 2024-06-01, midnight UTC
TIMES = NOW + STEP * np.arange(4, dtype=np.int64)


def open_in(data_dir: Path, address: str | None = None) -> Store:
    """The store of a data directory, or another with its archive."""
    return open_store(address or data_dir / "clearwatt.db", archive=data_dir / ARCHIVE)


def register(store: Store, zone: str = "north") -> int:
    """A zone with one entity, whose number is returned."""
    store.add_zone(Zone(zone, STEP, ("wind",)))
    (entity,) = store.add_entities([RegisteredEntity(f"{zone}-farm", zone, "generator")])
    return entity.number


def append(store: Store, zone: str, entity: int, count: int, *, at: float) -> None:
    """Entries of all kinds: weather every tenth, a command every fifteenth, else readings.

    In one transaction, because each costs a write to the disk.
    """
    start, entities = store.heads()[zone], EntityCache()
    with store.write_session() as session:
        for place in range(start, start + count):
            if place % 10 == 3:
                values = np.full((4, 1), place, np.float32)
                issue = WeatherIssue(zone, NOW + place, TIMES, values)
                journal.add_weather(session, issue, at=at)
            elif place % 15 == 7:
                command = Command("hold", zone, None, {"place": place}, "Ada", at)
                journal.add_command(session, command)
            else:
                reading = np.array([(entity, NOW + STEP * place, place)], READING)
                ingest.add(session, [ingest.Delivery(reading, at)], directory=entities)


def checkpoint(data_dir: Path, zone: str, *positions: int) -> None:
    for position in positions:
        Checkpoints(data_dir).write(zone, position, lambda path: (path / "state").touch())


def plain(entry: Entry) -> tuple[object, ...]:
    """An entry as values that can be compared."""
    content = entry.content
    if isinstance(content, np.ndarray):
        return entry.seq, entry.at, tuple(content.tolist())
    if isinstance(content, WeatherIssue):
        return entry.seq, entry.at, content.issued_at, tuple(content.values.ravel().tolist())
    return entry.seq, entry.at, content.kind, str(content.arguments), content.actor


def whole_journal(store: Store, zone: str = "north", limit: int = 70) -> list[tuple[object, ...]]:
    """Everything that the learner would read from the start."""
    found: list[tuple[object, ...]] = []
    after = 0
    while page := store.journal(zone, after=after, limit=limit):
        found += map(plain, page)
        after = page[-1].seq
    return found


def in_table(store: Store, zone: str = "north") -> list[int]:
    """Numbers of the entries that are in the database."""
    with store.read_session() as session:
        rows: Sequence[tuple[int]] = session.rows(
            "SELECT seq FROM journal WHERE zone = ? ORDER BY seq", zone
        )
    return [seq for (seq,) in rows]
