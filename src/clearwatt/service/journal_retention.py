"""Moves old entries of the journals from the database to the archive."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable

from clearwatt.clock import SECONDS_PER_DAY
from clearwatt.errors import StateError
from clearwatt.service.files import KEPT_CHECKPOINTS, Checkpoints
from clearwatt.service.regular_work import RegularWork
from clearwatt.service.store import Store, UnregisteredZoneError
from clearwatt.service.store.journal_archive import ArchiveFile, JournalArchive

INTERVAL = float(SECONDS_PER_DAY)
"""Seconds between two rounds; each round writes a file for a zone, so rounds are rare."""
ENTRIES, BYTES = 5_000, 8_000_000
"""Upper limits of a file; a reader loads one as a whole."""
PORTION = 50
"""Entries deleted in one transaction; readings wait for one portion at most."""
PAUSE = 3.0
"""Pause after a portion, as a multiple of the time it took: a quarter of the writing at most."""

_LOG = logging.getLogger(__name__)


class JournalRetention(RegularWork):
    """Archives entries accepted more than ``kept`` seconds ago that no checkpoint needs.

    A file is on disk before its entries are deleted, and a portion is deleted in one transaction.
    So a killed process loses nothing: the next round finds the file, compares, and goes on. If two
    nodes of a cluster do this at once, because one hung meanwhile, both write the same entries.

    Args:
        store: The store of the service.
        archive: Where the entries are moved to.
        checkpoints: The checkpoints of the zones.
        kept: Seconds.
        moved: Called with the number of entries that a portion moved.
        clock: The time, in seconds since 1970.
    """

    thread_name = "journal-retention"
    complaint = "journal not archived"

    def __init__(
        self,
        store: Store,
        archive: JournalArchive,
        checkpoints: Checkpoints,
        *,
        kept: float,
        moved: Callable[[int], None],
        interval: float = INTERVAL,
        clock: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(interval)
        self._store, self._archive, self._checkpoints = store, archive, checkpoints
        self._kept, self._moved, self._clock = kept, moved, clock
        self._left_before = -math.inf

    def run_round(self) -> None:
        """Archive what is old enough of all zones; a zone whose archive is damaged is left out.

        StateError: the folder is not that of this database.
        """
        before = self._clock() - self._kept
        self._left_before = self._store.journal_limit(before)
        for name, (_, last) in self._store.archive_spans().items():
            # Or a folder that is not mounted, or not shared, would get the next entries.
            self._archive.require_file(name, last)
        for zone in self._store.zones():
            try:
                self._run_zone(zone.id, before)
            except (StateError, UnregisteredZoneError, OSError) as error:
                _LOG.error(self.complaint, extra={"zone": zone.id, "reason": str(error)})
        if not self._stopped.is_set():
            self._store.drop_archived(before)

    def _run_zone(self, zone: str, before: float) -> None:
        until, count = self._older_checkpoint(zone), 0
        while not self._stopped.is_set():
            file = self._next_file(zone, before=before, until=until)
            if file is None:
                break
            count += self._delete_entries(file)
        if count:
            _LOG.info("journal archived", extra={"zone": zone, "count": count})

    def _older_checkpoint(self, zone: str) -> int:
        """Position of the older checkpoint that is kept; 0 as long as there is only one."""
        positions = [checkpoint.position for checkpoint in self._checkpoints.newest(zone)]
        return 0 if len(positions) < KEPT_CHECKPOINTS else positions[KEPT_CHECKPOINTS - 1]

    def _next_file(self, zone: str, *, before: float, until: int) -> ArchiveFile | None:
        """The file with the oldest entries of the table, written now or before a kill."""
        end = self._store.archive_end(zone)
        file = self._archive.find_file(zone, end + 1)
        if file is not None:
            try:
                self._archive.read(file)
            except StateError as error:
                # It may have entries that are nowhere else, since a moment ago.
                unreachable = isinstance(error.__cause__, OSError)
                if unreachable or file.first <= self._store.archive_end(zone):
                    raise
                self._archive.set_aside(file)
            else:
                return file
        rows = self._store.oldest_entries(zone, before=before, until=until, limit=ENTRIES)
        size = 0
        for place, row in enumerate(rows):
            size += len(row.content or b"")
            if size > BYTES and place:
                rows = rows[:place]
                break
        return self._archive.write(zone, rows) if rows else None

    def _delete_entries(self, file: ArchiveFile) -> int:
        """Delete the entries of a file from the table, after a look that both are the same."""
        rows = self._archive.read(file)
        left = rows[max(0, self._store.archive_end(file.zone) + 1 - file.first) :]
        for start in range(0, len(left), PORTION):
            began = time.perf_counter()
            portion = left[start : start + PORTION]
            moved = self._store.drop_entries(file.zone, portion, leave_before=self._left_before)
            self._moved(moved)
            if self._stopped.wait(PAUSE * (time.perf_counter() - began)):
                return start + len(portion)
        return len(left)
