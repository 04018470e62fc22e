"""Readings: one value per entity and time, with its flag and reason.

They are ordered by *chunk* (four hours), entity, time. A batch of many entities at one time and a
batch of many times of one entity then both touch few pages. Ordered by entity and time alone, the
former, which a live service receives, would touch one page per reading.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from clearwatt.service.records import Flag, Readings, StoredReading, StoredSeries, Verdict
from clearwatt.service.store.checksums import damaged_row, reading_checksums, wrong_readings
from clearwatt.service.store.schema import CHUNK
from clearwatt.service.store.session import Insert, Session, upsert

Extent = tuple[int, int]
"""The first and the last chunk in which an entity has readings."""

REPLACE = upsert("readings", "chunk", "entity", "time")
EXTEND = Insert(
    "extents",
    "ON CONFLICT (entity) DO UPDATE SET "
    "first = CASE WHEN excluded.first < extents.first THEN excluded.first ELSE extents.first END, "
    "last = CASE WHEN excluded.last > extents.last THEN excluded.last ELSE extents.last END",
)


def last_of_each(readings: Readings) -> Readings:
    """The last reading of each entity and time, in the order of arrival."""
    order = np.lexsort((readings["time"], readings["entity"]))  # stable: the last one stays last
    entities, times = readings["entity"][order], readings["time"][order]
    last = np.ones(len(readings), dtype=bool)
    last[:-1] = (entities[1:] != entities[:-1]) | (times[1:] != times[:-1])
    return readings[np.sort(order[last])]


def stored_values(
    session: Session, readings: Readings
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.float64]]:
    """Which of n readings are stored already (n), and with which value (n)."""
    numbers = {
        "item": range(len(readings)),
        "chunk": (readings["time"] // CHUNK).tolist(),
        "entity": readings["entity"].tolist(),
        "time": readings["time"].tolist(),
    }
    given, ends = session.value_table(numbers=numbers), _ends(numbers["chunk"])
    rows = session.rows(
        f"SELECT given.item, r.value, r.checksum FROM {given.sql} CROSS JOIN "
        + _looked_up(session, ends, "r.entity = given.entity AND r.time = given.time"),
        *given.values,
        *ends,
    )
    found, values = np.zeros(len(readings), dtype=bool), np.full(len(readings), np.nan)
    if rows:
        items, known, checksums = zip(*rows, strict=True)
        found[list(items)] = True
        _check(readings["entity"][list(items)], readings["time"][list(items)], known, checksums)
        values[list(items)] = np.array(known, dtype=np.float64)  # None becomes NaN
    return found, values


def _looked_up(
    session: Session,
    ends: Sequence[int],
    condition: str,
    *,
    given: str = "given",
    name: str = "r",
) -> str:
    """SQL for the readings of the same chunk, for each row of ``given``; ``ends`` are parameters.

    With the ends of its chunks, PostgreSQL opens the partitions between them only. The subquery
    with OFFSET has it look up each row by the whole key: newest chunks are beyond its statistics,
    so it would otherwise take their readings for few, and read all of them for each row.
    """
    many = f"{name}.chunk = {given}.chunk AND {name}.chunk BETWEEN ? AND ?"
    chunk = many if len(ends) > 1 else f"{name}.chunk = ?"  # three conditions take a third longer
    where = f"readings {name} WHERE {chunk} AND {condition}"
    lateral = f"LATERAL (SELECT {name}.* FROM {where} OFFSET 0) {name}"
    return lateral if session.partitioned else where


def _ends(chunks: Sequence[int]) -> tuple[int, ...]:
    """The first and the last of some chunks, or the only one."""
    first, last = (min(chunks), max(chunks)) if len(chunks) else (0, -1)
    return (first,) if first == last else (first, last)


def insert(session: Session, readings: Readings, *, at: float | Sequence[float]) -> None:
    """Insert n new readings; ``at`` is their arrival (one for all, or n).

    Each is flagged as accepted until it is checked.
    """
    session.fill("readings", zip(*_columns(readings, at), strict=True))


def replace(session: Session, readings: Readings, *, at: float | Sequence[float]) -> None:
    """Replace n stored readings; each is flagged as accepted until it is checked again."""
    session.insert(REPLACE, _columns(readings, at))


def _columns(readings: Readings, at: float | Sequence[float]) -> list[Sequence[object]]:
    """Columns of the table in the order of its key, so that each page is visited once."""
    chunks = readings["time"] // CHUNK
    order = np.lexsort((readings["time"], readings["entity"], chunks))
    entities, times = readings["entity"][order], readings["time"][order]
    checksums = reading_checksums(entities, times, readings["value"][order])
    values: list[float | None] = readings["value"][order].tolist()
    for missing in np.flatnonzero(np.isnan(readings["value"][order])):
        values[missing] = None
    n = len(readings)
    keys = [column.tolist() for column in (chunks[order], entities, times)]
    arrivals = np.broadcast_to(at, n)[order].tolist()
    return [*keys, values, [int(Flag.ACCEPTED)] * n, [""] * n, arrivals, checksums.tolist()]


def _check(
    entities: npt.ArrayLike, times: npt.ArrayLike, values: npt.ArrayLike, checksums: npt.ArrayLike
) -> None:
    """Raise StoreDamagedError if one of n readings is not what was written."""
    wrong = np.flatnonzero(wrong_readings(entities, times, values, checksums))
    if len(wrong):
        raise damaged_row(f"the reading at {np.asarray(times)[wrong[0]]}")


def extend(session: Session, readings: Readings, known: Mapping[int, Extent]) -> dict[int, Extent]:
    """Extend the extents of entities; returns those that have grown."""
    grown: dict[int, Extent] = {}
    entities, chunks = readings["entity"].tolist(), (readings["time"] // CHUNK).tolist()
    for entity, chunk in zip(entities, chunks, strict=True):
        first, last = grown.get(entity) or known.get(entity) or (chunk + 1, chunk)
        if chunk < first or chunk > last:
            grown[entity] = (min(first, chunk), max(last, chunk))
    if grown:
        ends = list(zip(*grown.values(), strict=True))
        session.insert(EXTEND, [list(grown), *ends])
    return grown


def series(session: Session, entity: int, *, start: int, end: int) -> StoredSeries:
    """Readings of one entity with start <= time < end, by time."""
    first, last = extents(session, [entity]).get(entity, (0, -1))
    chunks = range(max(first, start // CHUNK), min(last, (end - 1) // CHUNK) + 1)
    given, ends = session.value_table(numbers={"chunk": chunks}), _ends(chunks)
    rows = session.rows(
        f"SELECT r.time, r.value, r.flag, r.checksum FROM {given.sql} CROSS JOIN "
        + _looked_up(session, ends, "r.entity = ? AND r.time >= ? AND r.time < ?")
        + " ORDER BY r.time",
        *given.values,
        *ends,
        entity,
        start,
        end,
    )
    times, values, flags, checksums = zip(*rows, strict=True) if rows else ((), (), (), ())
    _check([entity] * len(times), times, values, checksums)
    return StoredSeries(
        np.array(times, dtype=np.int64),
        np.array(values, dtype=np.float64),
        np.array(flags, dtype=np.uint8),
    )


def extents(session: Session, entities: Sequence[int]) -> dict[int, Extent]:
    """The extents of entities; those without readings are left out."""
    given = session.value_table(numbers={"entity": entities})
    rows = session.rows(
        f"SELECT e.entity, e.first, e.last FROM {given.sql} CROSS JOIN extents e "
        "WHERE e.entity = given.entity",
        *given.values,
    )
    return {entity: (first, last) for entity, first, last in rows}


def span(session: Session, entity: int) -> tuple[int, int] | None:
    """The times of the first and the last reading of an entity."""
    if (extent := extents(session, [entity]).get(entity)) is None:
        return None
    sql = "SELECT MIN(time), MAX(time) FROM readings WHERE chunk = ? AND entity = ?"
    (first, _), (_, last) = (session.rows(sql, chunk, entity)[0] for chunk in extent)
    return first, last


def newest(session: Session, entities: Sequence[int]) -> dict[int, int]:
    """The time of the newest reading of each entity; those without readings are left out."""
    found = extents(session, entities)
    chunks = [last for _, last in found.values()]
    given = session.value_table(numbers={"entity": list(found), "chunk": chunks})
    ends = _ends(chunks)
    rows = session.rows(
        f"SELECT given.entity, MAX(r.time) FROM {given.sql} CROSS JOIN "
        + _looked_up(session, ends, "r.entity = given.entity")
        + " GROUP BY given.entity",
        *given.values,
        *ends,
    )
    return dict(rows)


def latest(
    session: Session, entities: Sequence[int], *, before: int
) -> dict[int, tuple[int, float]]:
    """The newest usable reading of each entity before a time, searched in growing strides."""
    found: dict[int, tuple[int, float]] = {}
    ahead = (before - 1) // CHUNK
    left = {e: (first, min(last, ahead)) for e, (first, last) in extents(session, entities).items()}
    stride = 1
    while left := {e: x for e, x in left.items() if e not in found and x[0] <= x[1]}:
        pairs = [
            (entity, chunk)
            for entity, (first, last) in left.items()
            for chunk in range(max(first, last - stride + 1), last + 1)
        ]
        found |= _newest(session, pairs, before=before)
        left = {e: (first, last - stride) for e, (first, last) in left.items()}
        stride *= 8
    return found


def _newest(
    session: Session, pairs: Sequence[tuple[int, int]], *, before: int
) -> dict[int, tuple[int, float]]:
    entities, chunks = zip(*pairs, strict=True)
    given = session.value_table(numbers={"entity": entities, "chunk": chunks})
    ends = _ends(chunks)
    usable = "r.flag IN (0, 2) AND r.value IS NOT NULL"
    rows = session.rows(
        "SELECT n.entity, n.time, v.value, v.checksum FROM "
        f"(SELECT r.chunk, r.entity, MAX(r.time) AS time FROM {given.sql} CROSS JOIN "
        + _looked_up(session, ends, f"r.entity = given.entity AND r.time < ? AND {usable}")
        + " GROUP BY r.chunk, r.entity) n CROSS JOIN "
        + _looked_up(session, ends, "v.entity = n.entity AND v.time = n.time", given="n", name="v")
        + " ORDER BY n.time",
        *given.values,
        *ends,
        before,
        *ends,
    )
    if rows:
        _check(*zip(*rows, strict=True))
    return {entity: (time, value) for entity, time, value, _ in rows}


def flag(session: Session, verdicts: Sequence[Verdict]) -> None:
    """Set flag and reason of readings; readings that are not stored are ignored."""
    if not verdicts:
        return
    numbers = {
        "chunk": [verdict.time // CHUNK for verdict in verdicts],
        "entity": [verdict.entity for verdict in verdicts],
        "time": [verdict.time for verdict in verdicts],
        "flag": [int(verdict.flag) for verdict in verdicts],
    }
    reasons = {"reason": [verdict.reason for verdict in verdicts]}
    given = session.value_table(numbers=numbers, texts=reasons)
    session.run(
        f"UPDATE readings SET flag = given.flag, reason = given.reason FROM {given.sql} "
        "WHERE readings.chunk = given.chunk AND readings.entity = given.entity "
        "AND readings.time = given.time",
        *given.values,
    )


def first_of_zone(session: Session, zone: str) -> int | None:
    """The time of the earliest reading of a zone's entities."""
    members = "JOIN entities ON entities.number = {}.entity WHERE entities.zone = ?"
    sql = f"SELECT MIN(extents.first) FROM extents {members.format('extents')}"
    ((chunk,),) = session.rows(sql, zone)
    if chunk is None:
        return None
    sql = f"SELECT MIN(readings.time) FROM readings {members.format('readings')} AND chunk = ?"
    ((first,),) = session.rows(sql, zone, chunk)
    return int(first)


def quarantine(
    session: Session, entity: int | None, *, limit: int, offset: int
) -> list[StoredReading]:
    """Quarantined readings, the newest first."""
    whose = "" if entity is None else "AND entity = ?"
    rows = session.rows(
        "SELECT entity, time, value, flag, reason, received FROM readings "
        f"WHERE flag = 1 {whose} ORDER BY time DESC, entity LIMIT ? OFFSET ?",
        *(() if entity is None else (entity,)),
        limit,
        offset,
    )
    return [
        StoredReading(number, time, np.nan if value is None else value, Flag(code), why, received)
        for number, time, value, code, why, received in rows
    ]
