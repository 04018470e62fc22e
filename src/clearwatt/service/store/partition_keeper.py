"""Keeps the partitions of a PostgreSQL store: creates, converts and drops them.

Each step is a transaction, takes an advisory lock, and looks at what there is before it does
anything. So several nodes may do it at once, and a killed one leaves nothing to repair.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager

from clearwatt.service.store import partitions
from clearwatt.service.store.counters import lock_counter, set_counter
from clearwatt.service.store.errors import StoreUnavailableError
from clearwatt.service.store.partitions import JOURNAL, PARTITIONED, VINTAGES, PartitionedTable
from clearwatt.service.store.periods import find_period
from clearwatt.service.store.session import Session

COOLING = 60.0
"""Seconds for which no partition is created for readings after a table was busy, as in a backup."""
LEAST_NOTICE = 7 * 86_400.0
"""Seconds by which the limit of a conversion must be ahead; a nearer one is set again."""
PORTION = 500
"""Archived entries deleted in one transaction; nobody waits for them."""
DROPPED = "vintages_dropped_"
"""Names of former partitions whose forecasts are yet to be counted."""

_LOG = logging.getLogger(__name__)
Sessions = Callable[[], AbstractContextManager[Session]]


class PartitionKeeper:
    """Partitions of a store.

    Args:
        write_session: Opens a session in a transaction.
    """

    def __init__(self, write_session: Sessions) -> None:
        self._write_session = write_session
        self._creating = threading.Lock()
        self._covered: dict[str, list[tuple[float, float]]] = {}
        self._pause_until = 0.0

    def run(self) -> None:
        """Convert tables of an earlier release and create the partitions of the next months.

        StoreUnavailableError: a table was busy; the next call goes on.
        """
        for table in PARTITIONED:
            self._convert(table)
            with self._change() as session:
                created = partitions.create_ahead(session, table)
            if created:
                _LOG.info("partitions created", extra={"partitions": created})

    def prepare(self, table: PartitionedTable, times: Collection[float]) -> None:
        """Create the partitions that rows of some times need, unless the table is busy.

        Without them rows go to the default partition.
        """
        if self._covers(table, times) or time.monotonic() < self._pause_until:
            return
        with self._creating:
            if self._covers(table, times) or time.monotonic() < self._pause_until:
                return  # another thread has tried it
            try:
                with self._change() as session:
                    self._create(session, table, times)
            except StoreUnavailableError as error:
                _LOG.warning("partitions not created", extra={"reason": str(error)})
            if not self._covers(table, times):
                self._pause_until = time.monotonic() + COOLING

    def drop_vintages(self, before: float) -> int:
        """Drop partitions whose forecasts were all issued before a time; returns how many.

        A partition is detached first, then counted, so that nobody waits for the counting; what a
        killed process has detached is counted by the next call.
        """
        with self._write_session() as session:
            found = partitions.find_partitions(session, VINTAGES)
        for partition in found:
            if not partition.is_default and partition.stop <= before:
                with self._change() as session:
                    if partition in partitions.find_partitions(session, VINTAGES):
                        name = f"{DROPPED}{partition.stop:.0f}"
                        partitions.detach(session, VINTAGES, partition, name=name)
        return sum(self._drop_detached())

    def journal_limit(self, before: float) -> float:
        """The time before which whole partitions of the journal can go; -infinity: none can."""
        with self._write_session() as session:
            found = partitions.find_partitions(session, JOURNAL)
        return max((each.stop for each in found if each.stop <= before), default=-math.inf)

    def drop_journal(self, before: float) -> None:
        """Drop partitions of the journal with archived entries only, all accepted before a time.

        Where others are among them, the archived ones are deleted.
        """
        with self._write_session() as session:
            found = partitions.find_partitions(session, JOURNAL)
        limit = max((each.stop for each in found if each.stop <= before), default=-math.inf)
        for partition in found:
            if partition.stop <= before and not self._has_unarchived(partition.name):
                self._drop_archived(partition)
            elif partition.stop <= before or partition.is_default:
                self._delete_archived(partition.name, limit)

    # Creation.

    @contextmanager
    def _change(self) -> Iterator[Session]:
        with self._write_session() as session:
            partitions.lock_partitions(session)
            yield session

    def _create(self, session: Session, table: PartitionedTable, times: Collection[float]) -> None:
        found = partitions.find_partitions(session, table)
        if not partitions.is_converted(found):
            return
        known = [each.span for each in found if not each.is_default]
        now = partitions.database_time(session)
        periods = {find_period(each, now=now, known=known) for each in times} - {None}
        partitions.create_periods(session, table, sorted(filter(None, periods)))
        spans = partitions.find_partitions(session, table)
        self._covered[table.name] = [each.span for each in spans if not each.is_default]

    def _covers(self, table: PartitionedTable, times: Collection[float]) -> bool:
        """Whether all times have the partitions that they need, as far as is known here."""
        spans = self._covered.get(table.name, [])
        left = [each for each in times if not _has(spans, each)]
        now = time.time()
        return all(find_period(each, now=now, known=spans) is None for each in left)

    # Conversion.

    def _convert(self, table: PartitionedTable) -> None:
        while True:
            with self._change() as session:
                if partitions.is_converted(partitions.find_partitions(session, table)):
                    return
                limit = self._find_limit(session, table)
                if limit is None:
                    stop, later_rows = partitions.choose_limit(session, table)
                    if later_rows:  # rare; it reads the table while others wait
                        partitions.finish_conversion(session, table, stop)
                    else:
                        partitions.set_limit(session, table, stop)
                    continue
                if limit.valid:
                    partitions.finish_conversion(session, table, limit.stop)
                    continue
            with self._write_session() as session:  # without the lock of `_change`: it may be long
                session.run(f"SET LOCAL lock_timeout = '{partitions.LOCK_WAIT}'")
                partitions.check_limit(session, table, limit)

    def _find_limit(self, session: Session, table: PartitionedTable) -> partitions.Limit | None:
        limit = partitions.find_limit(session, table)
        if limit is None or limit.stop >= partitions.database_time(session) + LEAST_NOTICE:
            return limit
        partitions.remove_limit(session, table, limit)
        return None

    # Removal.

    def _drop_detached(self) -> Iterator[int]:
        with self._write_session() as session:
            names = partitions.find_tables(session, DROPPED)
        for name in names:
            with self._write_session() as session:
                ((count,),) = session.rows(f"SELECT COUNT(*) FROM {name}")
            with self._change() as session:
                if name in partitions.find_tables(session, DROPPED):
                    total = lock_counter(session, "vintages")
                    session.run(f"DROP TABLE {name}")
                    set_counter(session, "vintages", total - count)
                    yield count

    def _has_unarchived(self, name: str) -> bool:
        with self._write_session() as session:
            return _unarchived(session, name)

    def _drop_archived(self, partition: partitions.Partition) -> None:
        with self._change() as session:
            # First, because a transaction that adds weather locks it before the journal.
            session.run("LOCK TABLE zones IN ACCESS EXCLUSIVE MODE")
            name = f"{partition.name}_dropped"
            partitions.detach(session, JOURNAL, partition, name=name)
            if _unarchived(session, name):
                raise StoreUnavailableError(f"{partition.name} has got an entry; try again")
            session.run(f"DROP TABLE {name}")

    def _delete_archived(self, name: str, limit: float) -> None:
        sql = (
            f"DELETE FROM {name} WHERE ctid IN (SELECT p.ctid FROM {name} p JOIN journals j "
            f"ON j.zone = p.zone AND p.seq <= j.archive_end WHERE p.at < ? LIMIT {PORTION})"
        )
        count = PORTION
        while count == PORTION:
            with self._write_session() as session:
                count = session.run(sql, limit)


def _has(spans: Sequence[tuple[float, float]], moment: float) -> bool:
    """Whether one of some spans, in order, has a time."""
    place = bisect_right(spans, (moment, math.inf)) - 1
    return place >= 0 and moment < spans[place][1]


def _unarchived(session: Session, name: str) -> bool:
    """Whether a partition has an entry that is not archived."""
    return bool(
        session.rows(
            "SELECT 1 FROM journals j WHERE EXISTS (SELECT 1 FROM "
            f"{name} p WHERE p.zone = j.zone AND p.seq > j.archive_end) LIMIT 1"
        )
    )
