"""The part of a store that has the journals: reading them, and moving old entries to an archive."""

from __future__ import annotations

import math
from collections.abc import Sequence

from clearwatt.service.records import Entry
from clearwatt.service.store import archive_statements, journal
from clearwatt.service.store.journal_archive import ArchiveRow, JournalArchive
from clearwatt.service.store.registry_store import RegistryStore


class JournalStore(RegistryStore):
    """Journals of a store; see `clearwatt.service.store.base.Store`."""

    archive: JournalArchive | None = None
    """Where old entries of the journals are, if it is known."""

    def journal(self, zone: str, *, after: int, limit: int = 1000) -> list[Entry]:
        """Entries of a zone after a number, in order; at least one if there is one.

        StateError: they are archived, and the archive is missing or damaged.
        """
        with self.read_session() as session:
            found = journal.entries(session, zone, after=after, limit=limit)
            if found and found[0].seq == after + 1:
                # Up to the first gap: archived entries may be left before it for a while.
                return [entry for seq, entry in enumerate(found, after + 1) if entry.seq == seq]
            start, end = archive_statements.span(session, zone)
        first = max(after + 1, start)
        if first > end:
            return found
        rows = archive_statements.require(self.archive, zone).rows(
            zone, first=first, until=end, limit=limit
        )
        with self.read_session() as session:
            return archive_statements.entries(session, zone, rows)

    def heads(self) -> dict[str, int]:
        """The number of the last journal entry of each zone (0 where there is none)."""
        with self.read_session() as session:
            return journal.heads(session)

    def archive_end(self, zone: str) -> int:
        """The number up to which a zone's entries are archived, or before which there are none."""
        with self.read_session() as session:
            start, end = archive_statements.span(session, zone)
        return max(start - 1, end)

    def archive_spans(self) -> dict[str, tuple[int, int]]:
        """First and last archived entry of each zone that has one."""
        with self.read_session() as session:
            return archive_statements.spans(session)

    def oldest_entries(
        self, zone: str, *, before: float, until: int, limit: int
    ) -> list[ArchiveRow]:
        """The oldest entries in the table, without those accepted at ``before`` or later.

        ``until`` is the last number that may be among them.
        """
        with self.read_session() as session:
            return archive_statements.oldest(session, zone, before=before, until=until, limit=limit)

    def drop_entries(
        self, zone: str, rows: Sequence[ArchiveRow], *, leave_before: float = -math.inf
    ) -> int:
        """Delete the oldest entries, which are archived; StateError if they are others.

        Those accepted before ``leave_before`` are left to `drop_archived`. Returns how many became
        archived; those that were before are left out.
        """
        with self.write_session() as session:
            return archive_statements.drop(session, zone, rows, leave_before=leave_before)

    def journal_limit(self, before: float) -> float:
        """The time before which `drop_archived` deletes entries at once; -infinity: it does not."""
        return -math.inf

    def drop_archived(self, before: float) -> None:
        """Delete archived entries that `drop_entries` has left; all were accepted before a time."""
