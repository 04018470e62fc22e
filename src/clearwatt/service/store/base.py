"""The store: durable records in SQLite or PostgreSQL.

The statements are the same for both databases; each subject has a module in this package. A
database adds its connections (`sqlite.py`, `postgres.py`). `clearwatt.testing` checks both.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import numpy as np

from clearwatt.errors import StateError
from clearwatt.service.records import (
    Command,
    DeployedSnapshot,
    IntervalSnapshot,
    Outcome,
    PriorOrigin,
    PriorVersion,
    Readings,
    Receipt,
    ServiceEvent,
    SignalDay,
    StatusStamp,
    StoredReading,
    StoredSeries,
    StoredVersion,
    Token,
    VersionStatus,
    Vintage,
    WeatherIssue,
)
from clearwatt.service.status import ZoneStatus
from clearwatt.service.store import (
    events,
    inclusions,
    ingest,
    journal,
    outcomes,
    priors,
    readings,
    registry,
    rot,
    vintage_statements,
)
from clearwatt.service.store.cluster_store import ClusterStore
from clearwatt.service.store.errors import StoreDamagedError
from clearwatt.service.store.group_commit import GroupCommit
from clearwatt.service.store.schema import CHUNK
from clearwatt.service.store.session import LONG_PAUSE, Session


class Store(ClusterStore):
    """Durable storage; safe to use from several threads and processes at once.

    Every method that writes is one transaction, durable when the method returns.
    """

    def __init__(self) -> None:
        super().__init__()
        self._group = GroupCommit(self._add_deliveries, self._known_zones)

    # Input; each method appends to the journal of its zone.

    def add_readings(self, readings: Readings, *, at: float) -> Receipt:
        """Store readings; those already stored with the same value are not journaled.

        A different value for a stored time is a correction: it replaces the value, is journaled,
        and leaves an event "correction" per entity (how many readings, not their values).
        Of two readings in one batch for the same entity and time the last one counts.
        NaN equals NaN. Entities may be of several zones; each zone gets its own journal entry.
        Calls of several threads may share a transaction; each returns after its commit.
        """
        if not len(readings):
            return Receipt(0, 0, 0)
        chunks = np.unique(readings["time"] // CHUNK)
        self.prepare_times({"readings": (chunks * CHUNK).tolist()})
        return self._group.add(ingest.Delivery(readings, at))

    def _known_zones(self, delivery: ingest.Delivery) -> set[str]:
        return self._directory.zones_of(delivery.readings["entity"])

    def _add_deliveries(
        self, deliveries: Sequence[ingest.Delivery], lock_wait: float | None
    ) -> list[Receipt]:
        """Store deliveries in one transaction."""
        with self.write_session() as session:
            if lock_wait is not None:
                session.limit_lock_wait(lock_wait)
            receipts, grown = ingest.add(session, deliveries, directory=self._directory)
        self._directory.extents.update(grown)  # only after the commit
        return receipts

    def add_weather(self, issue: WeatherIssue, *, at: float) -> bool:
        """Store an issue; False if (zone, issued_at) is stored with the same content.

        Different content for a known issue replaces it, is journaled, and leaves an event.
        """
        with self.write_session() as session:
            return journal.add_weather(session, issue, at=at)

    def add_command(self, command: Command) -> int:
        """Append a command to the journal of its zone and return its number."""
        with self.write_session() as session:
            if command.kind == "include":
                command = inclusions.add_readings_of_window(session, command)
            return journal.add_command(session, command)

    # The learner.

    def commit(self, outcome: Outcome, *, fence: int | None = None) -> None:
        """Record the outcome of applying journal entries.

        Events with a known key are skipped; versions, statuses, verdicts and signal days replace
        those with the same key. A deployed version supersedes the deployed one of its component,
        one that awaits approval the earlier one that awaits it.

        With the fencing number of a lease: LeaseLostError if another node has taken the zone since.
        """
        # Before the transaction, during which no reading can be stored: it takes milliseconds, and
        # 150 ms if it starts a garbage collection.
        content = outcomes.dump_status(outcome.status)
        with self.write_session() as session:
            outcomes.commit(session, outcome, content=content, fence=fence)

    def statuses(self, zones: Sequence[str] | None = None) -> dict[str, ZoneStatus]:
        """The statuses of zones; a zone without one is left out."""
        with self.read_session() as session:
            return outcomes.statuses(session, zones)

    def status(self, zone: str) -> ZoneStatus:
        """The status of a zone; "waiting" if nothing was committed yet."""
        return self.statuses([zone]).get(zone) or ZoneStatus(zone)

    def positions(self) -> dict[str, tuple[int, int]]:
        """Position and generation of each status, to see cheaply which have changed."""
        with self.read_session() as session:
            return outcomes.positions(session)

    def status_stamps(self) -> dict[str, StatusStamp]:
        """What changes with each status, also if learning fails, to read only those again."""
        with self.read_session() as session:
            return outcomes.stamps(session)

    # Reading back.

    def readings(self, entity: int, *, start: int, end: int) -> StoredSeries:
        """Readings with start <= time < end, by time."""
        with self.read_session() as session:
            return readings.series(session, entity, start=start, end=end)

    def span(self, entity: int) -> tuple[int, int] | None:
        """The times of the first and the last reading of an entity; None if it has none."""
        with self.read_session() as session:
            return readings.span(session, entity)

    def newest(self, entities: Sequence[int]) -> dict[int, int]:
        """The time of the newest reading of each entity; those without one are left out."""
        with self.read_session() as session:
            return readings.newest(session, entities)

    def latest(self, entities: Sequence[int], *, before: int) -> dict[int, tuple[int, float]]:
        """The newest accepted or released reading of each entity before a time."""
        with self.read_session() as session:
            return readings.latest(session, entities, before=before)

    def weather(
        self, zone: str, *, start: int, end: int, until: int | None = None
    ) -> list[WeatherIssue]:
        """Whole issues that overlap start <= time < end, by issue time.

        With ``until`` only issues whose journal number is at most that.
        """
        with self.read_session() as session:
            return journal.weather(session, zone, start=start, end=end, until=until)

    def weather_spans(self, zone: str) -> list[tuple[int, int]]:
        """First and last time of each weather issue of a zone."""
        with self.read_session() as session:
            return journal.weather_spans(session, zone)

    def newest_issue(self, zone: str, *, reaching: int) -> int | None:
        """Issue time of the newest weather issue with values at a time or later; None: no such."""
        with self.read_session() as session:
            return journal.newest_issue(session, zone, reaching=reaching)

    def first_reading(self, zone: str) -> int | None:
        """The time of the earliest reading of a zone; None if it has none."""
        with self.read_session() as session:
            return readings.first_of_zone(session, zone)

    def quarantine(
        self, *, entity: int | None = None, limit: int = 1000, offset: int = 0
    ) -> list[StoredReading]:
        """Quarantined readings, the newest first."""
        with self.read_session() as session:
            return readings.quarantine(session, entity, limit=limit, offset=offset)

    def signals(self, zone: str, *, start: int, end: int) -> list[SignalDay]:
        """Signal days that overlap start <= time < end, by day."""
        with self.read_session() as session:
            return outcomes.signals(session, zone, start=start, end=end)

    def intervals(self, zone: str) -> IntervalSnapshot | None:
        """The current quantiles of a zone; None before its first model."""
        with self.read_session() as session:
            return outcomes.intervals(session, zone)

    def deployed(self, zone: str) -> DeployedSnapshot | None:
        """What an adaptive zone forecasts with, besides its versions; None for other zones."""
        with self.read_session() as session:
            return outcomes.deployed(session, zone)

    def add_event(self, event: ServiceEvent) -> None:
        """Record an event from outside the learner."""
        with self.write_session() as session:
            events.record(session, [event])

    def events(
        self,
        *,
        zone: str | None = None,
        entity: str | None = None,
        kinds: Sequence[str] | None = None,
        start: float | None = None,
        end: float | None = None,
        after: int | None = None,
        before: int | None = None,
        limit: int = 100,
        shared: bool = False,
    ) -> list[ServiceEvent]:
        """Events with their numbers (``seq``): the newest first, or oldest first if ``after``.

        ``start`` and ``end`` bound the wall clock; ``after`` and ``before`` the number. With
        ``shared`` those of an entity include the events that are about its whole zone.
        """
        wanted = events.EventSelection(
            zone, entity, kinds, start, end, after, before, limit, shared
        )
        with self.read_session() as session:
            return events.find(session, wanted)

    def versions(
        self,
        *,
        zone: str | None = None,
        entity: str | None = None,
        status: VersionStatus | None = None,
        limit: int = 1000,
        offset: int = 0,
        deleted: bool = False,
    ) -> list[StoredVersion]:
        """Versions, the newest first; an entity's include the shared ones of its zone.

        ``deleted``: also those of deleted entities that the learner has yet to forget.
        """
        with self.read_session() as session:
            return outcomes.versions(
                session,
                zone=zone,
                entity=entity,
                status=status,
                limit=limit,
                offset=offset,
                deleted=deleted,
            )

    def version(self, version: str) -> StoredVersion | None:
        """One version by id."""
        with self.read_session() as session:
            return outcomes.version(session, version)

    def mark_version(self, version: str, status: VersionStatus) -> None:
        """Change a version's status, such as when its file is found damaged."""
        with self.write_session() as session:
            outcomes.mark_version(session, version, status)

    def move_version(self, version: str, path: str) -> None:
        """Change the path of a version's files, below the data directory."""
        with self.write_session() as session:
            outcomes.move_version(session, version, path)

    def add_vintages(self, vintages: Sequence[Vintage]) -> None:
        """Store forecasts as answered."""
        with self.write_session() as session:
            vintage_statements.add(session, vintages)

    def vintages(
        self,
        entity: str,
        *,
        start: int,
        end: int,
        issued_before: float | None = None,
        limit: int = 100,
    ) -> list[Vintage]:
        """Forecasts that overlap start <= time < end, the newest issue first."""
        with self.read_session() as session:
            return vintage_statements.find(
                session, entity, start=start, end=end, issued_before=issued_before, limit=limit
            )

    def drop_vintages(self, before: float) -> int:
        """Delete forecasts issued before a time as far as that takes no time; returns how many.

        With PostgreSQL, partitions in which nothing is newer. `prune_vintages` deletes the others.
        """
        return 0

    def prune_vintages(self, before: float, *, limit: int = 2000) -> int:
        """Delete the oldest forecasts issued before a time and return how many.

        One call deletes ``limit`` at most, so that other writers wait only briefly: if it returns
        as many, there may be more.
        """
        with self.write_session() as session:
            return vintage_statements.prune(session, before, limit=limit)

    # Fleet priors.

    def add_prior(
        self, digest: str, content: bytes, *, origin: PriorOrigin, actor: str, at: float
    ) -> PriorVersion:
        """Store a prior for good; one that is stored already stays as it is."""
        with self.write_session() as session:
            return priors.add(session, digest, content, origin=origin, actor=actor, at=at)

    def priors(self) -> list[PriorVersion]:
        """All priors, the newest first."""
        with self.read_session() as session:
            return priors.versions(session)

    def prior(self, digest: str) -> bytes | None:
        """The content of a prior; None if it is not stored."""
        with self.read_session() as session:
            return priors.content(session, digest)

    # Tokens.

    def add_token(self, token: Token) -> None:
        """Store a token's hash; ConflictError if the id is taken."""
        with self.write_session() as session:
            registry.add_token(session, token)

    def tokens(self) -> list[Token]:
        """All tokens."""
        with self.read_session() as session:
            return registry.tokens(session)

    def tokens_existed(self) -> bool:
        """Whether a token exists or ever did."""
        with self.read_session() as session:
            return registry.tokens_existed(session)

    def remove_token(self, token: str) -> bool:
        """Delete a token by id; False if there is none."""
        with self.write_session() as session:
            return registry.remove_token(session, token)

    # Upkeep.

    def prepare_times(self, times: Mapping[str, Collection[float]]) -> None:
        """Make the partitions that rows of some times need, by table, where there are any."""

    def keep_partitions(self) -> None:
        """Make the partitions of the next months, where there are any; called regularly."""

    def counts(self) -> Mapping[str, int]:
        """Rows per table; fast enough to be read every few seconds."""
        with self.read_session() as session:
            return _counts(session)

    @abstractmethod
    def size(self) -> int:
        """Bytes on disk."""

    @abstractmethod
    def backup(self, folder: Path) -> None:
        """Write a consistent copy of everything into a folder while the service runs."""

    @abstractmethod
    def exclusive(self) -> AbstractContextManager[None]:
        """Lock the store for one service; ConflictError if another holds the lock."""

    @abstractmethod
    def shared(self) -> AbstractContextManager[None]:
        """Use the store together with other nodes of a cluster.

        Raises:
            ConflictError: If a service holds the lock of `exclusive`.
            ConfigurationError: If the store is for one service only.
        """

    def keep_lock(self) -> None:
        """Take the lock of `exclusive` or `shared` again, where it ends with a connection."""

    def check(self) -> None:
        """Raise StoreUnavailableError if the store cannot be read, StoreFullError if it is full.

        StoreDamagedError: it is known to be damaged.
        """
        with self.read_session() as session:
            session.rows("SELECT name FROM counters")

    def find_damage(self, *, rows: bool = True) -> str | None:
        """Read the whole database; the first damage found, or None.

        PostgreSQL checks its own pages, if it was created with data checksums.

        Args:
            rows: Check the rows, too: 4 s for a million readings, all of it in this process.
        """
        if not rows:
            return None
        with self.read_session() as session:
            return rot.find_rot(session)

    def mend_damage(self) -> bool:
        """Take readings again from the journal; whether no damage is left."""
        try:
            with self.write_session() as session:
                session.allow_pause(LONG_PAUSE)  # millions of checksums between two statements
                rot.mend_readings(session, self.archive)
        except (StoreDamagedError, StateError):
            return False
        return self.find_damage() is None

    @abstractmethod
    def close(self) -> None:
        """Close every connection."""


def _counts(session: Session) -> dict[str, int]:
    """Rows per table; counts of large tables are maintained on write."""
    (sums,) = session.rows(
        "SELECT COALESCE(SUM(head - archive_end), 0), COALESCE(SUM(readings), 0), "
        "COALESCE(SUM(issues), 0) FROM journals"
    )
    found = dict(zip(("journal", "readings", "weather"), map(int, sums), strict=True))
    found |= {row[0]: row[1] for row in session.rows("SELECT name, value FROM counters")}
    for table in ("zones", "entities", "versions", "statuses", "signals", "tokens"):
        found[table] = session.rows(f"SELECT COUNT(*) FROM {table}")[0][0]
    found["quarantine"] = session.rows("SELECT COUNT(*) FROM readings WHERE flag = 1")[0][0]
    return found
