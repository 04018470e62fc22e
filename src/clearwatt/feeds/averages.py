"""Averages of readings that come more often than the zone's step, kept in the spool's file.

A message is added to the sums and leaves the spool in one transaction, so it counts once. The sums
stay for two days: a late reading corrects its average.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from clearwatt.feeds.spool import Spool

GRACE = 30.0
"""Seconds after the end of a step in which its last readings may still arrive."""
KEPT = 2 * 86400
"""Seconds for which the sums of a step are kept."""
_SCHEMA = """
CREATE TABLE IF NOT EXISTS averages (
    entity TEXT NOT NULL,
    time INTEGER NOT NULL,
    due REAL NOT NULL,
    topic TEXT NOT NULL,
    total REAL NOT NULL,
    count INTEGER NOT NULL,
    changed INTEGER NOT NULL,
    unit TEXT,
    PRIMARY KEY (entity, time)
) WITHOUT ROWID
"""
_ADD = """
INSERT INTO averages (entity, time, due, topic, total, count, changed, unit)
VALUES (?, ?, ?, ?, ?, 1, 1, ?)
ON CONFLICT (entity, time) DO UPDATE SET
    total = total + excluded.total, count = count + 1, topic = excluded.topic, changed = 1,
    unit = excluded.unit
"""


class Sample(NamedTuple):
    """A reading, in its entity's unit, within a step that begins at ``time``.

    The step lasts ``step`` seconds.
    """

    entity: str
    time: int
    step: int
    value: float
    topic: str
    unit: str


class StepAverage(NamedTuple):
    """The average of an entity's readings in a step; topic and unit are those of the last one.

    The unit is None in spools of earlier versions.
    """

    entity: str
    time: int
    topic: str
    value: float
    unit: str | None


class StepAverages:
    """Sums and numbers of readings, by entity and step."""

    def __init__(self, spool: Spool) -> None:
        self._spool = spool
        with spool.transaction() as database:
            database.execute(_SCHEMA)
            columns = [name for _, name, *_ in database.execute("PRAGMA table_info(averages)")]
            if "unit" not in columns:
                database.execute("ALTER TABLE averages ADD COLUMN unit TEXT")

    def add(self, samples: Iterable[Sample], *, through: int) -> None:
        """Add readings, and remove the messages up to this id from the spool."""
        with self._spool.transaction() as database:
            database.executemany(
                _ADD,
                [
                    (
                        each.entity,
                        each.time,
                        each.time + each.step + GRACE,
                        each.topic,
                        each.value,
                        each.unit,
                    )
                    for each in samples
                ],
            )
            self._spool.remove_in(database, through)

    def due(self, now: float, limit: int) -> list[StepAverage]:
        """Averages of steps that have ended and were not sent since they changed."""
        with self._spool.transaction() as database:
            rows = database.execute(
                "SELECT entity, time, topic, total / count, unit FROM averages"
                " WHERE changed AND due <= ? ORDER BY time, entity LIMIT ?",
                (now, limit),
            )
            return [StepAverage(*row) for row in rows]

    def mark_sent(self, averages: Iterable[StepAverage], now: float) -> None:
        """Say that the service has these; sums of steps long ago are deleted."""
        with self._spool.transaction() as database:
            database.executemany(
                "UPDATE averages SET changed = 0 WHERE entity = ? AND time = ?",
                [(each.entity, each.time) for each in averages],
            )
            database.execute(
                "DELETE FROM averages WHERE NOT changed AND time < ?", (now - 2 * KEPT,)
            )
