"""Partitions by time of the three large tables; PostgreSQL only.

A partitioned table has a partition for each month (old history: each year), and a default
partition for all other times, so that every row has a place. The table of a release without
partitions becomes one of them as it is. Why: docs/decisions.md, Partitions.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from clearwatt.service.store.periods import AHEAD, Period, month
from clearwatt.service.store.schema import CHUNK
from clearwatt.service.store.session import Session

PARTITIONING = 0x6377_0003
"""Key of the advisory lock for creating, converting and dropping partitions."""
LOCK_WAIT = "1s"
"""How long a change of partitions waits for a table, and writers behind it wait with it."""
MOST_MOVED = 50_000
"""Rows that are moved from the default partition to a new one; with more, they stay there."""
LATEST = 250_000_000_000.0
"""Seconds since 1970, in the year 9892: the latest time that a limit is chosen for."""
_BOUNDS = re.compile(r"FROM \((.*)\) TO \((.*)\)")


@dataclass(frozen=True, slots=True)
class PartitionedTable:
    """A table that is partitioned by ``key``, which counts ``unit`` seconds.

    ``shared`` are indexes and constraints of the whole table, ``own`` those of each partition.
    """

    name: str
    key: str
    unit: int
    shared: tuple[str, ...] = ()
    own: str = ""

    @property
    def default(self) -> str:
        """The default partition once the table is converted."""
        return f"{self.name}_default"

    @property
    def before(self) -> str:
        """The partition that was the whole table in a release without partitions."""
        return f"{self.name}_before"

    def literal(self, time: float) -> str:
        """A time (seconds since 1970) as a value of the key."""
        return str(int(time) // self.unit)


READINGS = PartitionedTable(
    "readings",
    "chunk",
    CHUNK,
    (
        "ALTER TABLE readings ADD PRIMARY KEY (chunk, entity, time)",
        "CREATE INDEX readings_quarantined ON readings (time, entity) WHERE flag = 1",
    ),
)
JOURNAL = PartitionedTable(
    "journal",
    "at",
    1,
    ("ALTER TABLE journal ADD CONSTRAINT journal_zone_fkey FOREIGN KEY (zone) REFERENCES zones",),
    # A key of the whole table would have to contain `at`. Numbers are unique because a transaction
    # that appends holds the lock of the zone's row in `journals`.
    own="ADD PRIMARY KEY (zone, seq)",
)
VINTAGES = PartitionedTable(
    "vintages",
    "issued_at",
    1,
    (
        "CREATE INDEX vintages_entity ON vintages (entity, issued_at)",
        "CREATE INDEX vintages_issued ON vintages (issued_at)",
    ),
)
PARTITIONED = (READINGS, JOURNAL, VINTAGES)
"""In the order in which a transaction of readings locks them."""

_GUARD = (
    """CREATE OR REPLACE FUNCTION clearwatt_guard_vintages() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF position('WHERE ctid IN' in current_query()) > 0 THEN
            RAISE EXCEPTION 'old forecasts are deleted by nodes of the new release only';
        END IF;
        RETURN NULL;
    END $$""",
    """CREATE TRIGGER guard_vintages BEFORE DELETE ON vintages
    FOR EACH STATEMENT EXECUTE FUNCTION clearwatt_guard_vintages()""",
)
"""The release before deletes rows by ctid, which is not unique in a partitioned table."""


@dataclass(frozen=True, slots=True)
class Partition:
    """A partition: its times in seconds since 1970, from ``start`` to before ``stop``."""

    name: str
    start: float
    stop: float
    is_default: bool = False

    @property
    def span(self) -> tuple[float, float]:
        """Start and stop."""
        return self.start, self.stop


def partition_tables(session: Session) -> None:
    """Make the three tables partitioned: no row is read, so it takes the same time for any size.

    A filled table becomes the default partition, whose place `conversion` changes later.
    """
    session.run("SET LOCAL lock_timeout = '5s'")
    names = ", ".join(table.name for table in PARTITIONED)
    session.run(f"LOCK TABLE {names} IN ACCESS EXCLUSIVE MODE")
    for table in PARTITIONED:
        _partition_table(session, table)
    for statement in _GUARD:
        session.run(statement)
    session.run("SET LOCAL lock_timeout = '30s'")


def _partition_table(session: Session, table: PartitionedTable) -> None:
    filled = bool(session.rows(f"SELECT 1 FROM {table.name} LIMIT 1"))
    session.run(f"ALTER TABLE {table.name} RENAME TO {table.before}")
    indexes = session.rows(
        "SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid "
        f"WHERE i.indrelid = '{table.before}'::regclass"
    )
    for (index,) in indexes:
        new = index.replace(table.name, table.before, 1)
        session.run(f"ALTER INDEX {index} RENAME TO {new}")
    session.run(
        f"CREATE TABLE {table.name} (LIKE {table.before} INCLUDING DEFAULTS) "
        f"PARTITION BY RANGE ({table.key})"
    )
    for statement in table.shared:
        session.run(statement)
    if filled:
        session.run(f"ALTER TABLE {table.name} ATTACH PARTITION {table.before} DEFAULT")
    else:
        session.run(f"DROP TABLE {table.before}")
        _create(session, table, table.default, "DEFAULT")
        create_ahead(session, table)


def find_partitions(session: Session, table: PartitionedTable) -> list[Partition]:
    """The partitions of a table, by time; the default one last."""
    rows = session.rows(
        "SELECT c.relname, pg_get_expr(c.relpartbound, c.oid) FROM pg_inherits i "
        f"JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = '{table.name}'::regclass"
    )
    found = [_partition(table, name, bounds) for name, bounds in rows]
    return sorted(found, key=lambda each: (each.is_default, each.start))


def _partition(table: PartitionedTable, name: str, bounds: str) -> Partition:
    matched = _BOUNDS.search(bounds)
    if matched is None:
        return Partition(name, -math.inf, math.inf, is_default=True)
    first, last = (each.strip("'") for each in matched.groups())
    start = -math.inf if first == "MINVALUE" else table.unit * float(first)
    return Partition(name, start, table.unit * float(last))


def lock_partitions(session: Session) -> None:
    """Let one transaction at a time change partitions, and wait only briefly for tables."""
    session.run(f"SET LOCAL lock_timeout = '{LOCK_WAIT}'")
    session.rows("SELECT pg_advisory_xact_lock(?, hashtext(current_schema()))", PARTITIONING)


def database_time(session: Session) -> float:
    """The database's clock: one clock for all nodes."""
    return float(session.rows(f"SELECT {session.now}")[0][0])


def is_converted(partitions: Sequence[Partition]) -> bool:
    """Whether there are partitions besides the default one, which is the whole table until then."""
    return len(partitions) > 1


def create_ahead(session: Session, table: PartitionedTable) -> list[str]:
    """Create the partitions of this month and the next ones; returns the names of new ones."""
    now = database_time(session)
    return create_periods(session, table, [month(now, later=each) for each in range(AHEAD + 1)])


def create_periods(
    session: Session, table: PartitionedTable, periods: Sequence[Period]
) -> list[str]:
    """Create partitions, unless there is one for the time; returns the names of new ones.

    Rows of the default partition move to them, unless these are too many: then they stay.
    """
    partitions = find_partitions(session, table)
    (default,) = [each.name for each in partitions if each.is_default]
    covered = [each.span for each in partitions if not each.is_default]
    created = []
    for period in periods:
        if any(start < period.stop and stop > period.start for start, stop in covered):
            continue
        if _create_period(session, table, period, default=default):
            created.append(f"{table.name}_{period.name}")
            covered.append((period.start, period.stop))
    return created


def _create_period(
    session: Session, table: PartitionedTable, period: Period, *, default: str
) -> bool:
    start, stop = table.literal(period.start), table.literal(period.stop)
    inside = f"{table.key} >= {start} AND {table.key} < {stop}"
    # Before the look: no row may come in between it and the attachment, which locks it anyway.
    session.run(f"LOCK TABLE {default} IN ACCESS EXCLUSIVE MODE")
    ((count,),) = session.rows(
        f"SELECT COUNT(*) FROM (SELECT 1 FROM {default} WHERE {inside} LIMIT {MOST_MOVED + 1}) few"
    )
    if count > MOST_MOVED:
        return False
    name = f"{table.name}_{period.name}"
    rows = f"DELETE FROM {default} WHERE {inside} RETURNING *" if count else ""
    _create(session, table, name, f"FOR VALUES FROM ({start}) TO ({stop})", rows=rows)
    return True


def _create(
    session: Session, table: PartitionedTable, name: str, bounds: str, *, rows: str = ""
) -> None:
    session.run(f"CREATE TABLE {name} (LIKE {table.name} INCLUDING ALL)")
    if table.own:
        session.run(f"ALTER TABLE {name} {table.own}")
    if rows:
        session.run(f"WITH moved AS ({rows}) INSERT INTO {name} SELECT * FROM moved")
    session.run(f"ALTER TABLE {table.name} ATTACH PARTITION {name} {bounds}")


# Conversion: the table of before becomes the partition of all times up to a limit, a constraint
# whose name ends with it. A killed process leaves a step done or not done.


@dataclass(frozen=True, slots=True)
class Limit:
    """Constraint of the table of before: its times are before ``stop``; ``valid``: all rows are."""

    constraint: str
    stop: float
    valid: bool


def find_limit(session: Session, table: PartitionedTable) -> Limit | None:
    """The limit of the table of before; None: it has none yet."""
    rows = session.rows(
        "SELECT conname, convalidated FROM pg_constraint WHERE contype = 'c' "
        f"AND conrelid = to_regclass('{table.before}')"
    )
    return next((Limit(name, float(name.rpartition("_")[2]), valid) for name, valid in rows), None)


def choose_limit(session: Session, table: PartitionedTable) -> tuple[float, bool]:
    """The month from which on rows have their own partitions, and whether some rows are later.

    It begins in 28 days or more: no reading is accepted that is more than a day ahead.
    """
    stop = month(database_time(session), later=1).stop
    later = f"SELECT 1 FROM {table.before} WHERE {table.key} >= {table.literal(stop)}"
    ((count,),) = session.rows(f"SELECT COUNT(*) FROM ({later} LIMIT {MOST_MOVED + 1}) few")
    if count > MOST_MOVED:
        ((newest,),) = session.rows(f"SELECT MAX({table.key}) FROM {table.before}")
        return month(min(table.unit * newest, LATEST)).stop, newest * table.unit > LATEST
    return stop, count > 0


def set_limit(session: Session, table: PartitionedTable, stop: float) -> None:
    """Let new rows be before the limit; those that are there are not looked at."""
    session.run(
        f"ALTER TABLE {table.before} ADD CONSTRAINT {table.before}_{stop:.0f} "
        f"CHECK ({table.key} < {table.literal(stop)}) NOT VALID"
    )


def remove_limit(session: Session, table: PartitionedTable, limit: Limit) -> None:
    """Remove a limit that is too near, such as that of a process killed weeks ago."""
    session.run(f"ALTER TABLE {table.before} DROP CONSTRAINT {limit.constraint}")


def check_limit(session: Session, table: PartitionedTable, limit: Limit) -> None:
    """Look whether all rows are before the limit; others read and write them meanwhile."""
    session.run(f"ALTER TABLE {table.before} VALIDATE CONSTRAINT {limit.constraint}")


def finish_conversion(session: Session, table: PartitionedTable, stop: float) -> None:
    """Make the table of before the partition of all times before ``stop``.

    With a valid limit no row is read. Later rows, if any, move to the new default partition.
    """
    bound = table.literal(stop)
    session.run(f"ALTER TABLE {table.name} DETACH PARTITION {table.before}")
    later = f"DELETE FROM {table.before} WHERE {table.key} >= {bound} RETURNING *"
    _create(session, table, table.default, "DEFAULT", rows=later)
    session.run(
        f"ALTER TABLE {table.name} ATTACH PARTITION {table.before} "
        f"FOR VALUES FROM (MINVALUE) TO ({bound})"
    )
    limit = find_limit(session, table)
    if limit is not None:
        remove_limit(session, table, limit)
    create_ahead(session, table)


# Removal of whole partitions.


def detach(session: Session, table: PartitionedTable, partition: Partition, *, name: str) -> None:
    """Take a partition out of its table, under another name; its rows are no longer seen."""
    session.run(f"ALTER TABLE {table.name} DETACH PARTITION {partition.name}")
    session.run(f"ALTER TABLE {partition.name} RENAME TO {name}")


def find_tables(session: Session, prefix: str) -> list[str]:
    """Tables whose names begin with a text."""
    rows = session.rows(
        "SELECT relname FROM pg_class WHERE relkind = 'r' AND starts_with(relname, ?) "
        "AND relnamespace = to_regnamespace(quote_ident(current_schema())) ORDER BY relname",
        prefix,
    )
    return [name for (name,) in rows]
