"""A store in a database that speaks SQL: all that SQLite and PostgreSQL have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager

from clearwatt.service.records import (
    Command,
    Entity,
    Entry,
    Event,
    IntervalSheet,
    Outcome,
    Readings,
    Receipt,
    SignalDay,
    StoredReading,
    Token,
    Version,
    VersionStatus,
    Vintage,
    WeatherIssue,
    Zone,
)
from clearwatt.service.status import ZoneStatus
from clearwatt.service.store import archive, events, ingest, journal, outcomes, readings, registry
from clearwatt.service.store.base import Series, Store
from clearwatt.service.store.session import Session


class SqlStore(Store):
    """A store whose methods are statements in a session; final are those of the two databases."""

    def __init__(self) -> None:
        self._directory = ingest.Directory()

    @abstractmethod
    def reading(self) -> AbstractContextManager[Session]:
        """A session that only reads."""

    @abstractmethod
    def writing(self) -> AbstractContextManager[Session]:
        """A session that is one transaction: durable when it ends, undone if it fails."""

    def add_zone(self, zone: Zone) -> bool:
        """Register a zone."""
        with self.writing() as session:
            return registry.add_zone(session, zone)

    def add_entities(self, entities: Sequence[Entity]) -> list[Entity]:
        """Register entities."""
        with self.writing() as session:
            return registry.add_entities(session, entities)

    def zones(self) -> list[Zone]:
        """All zones."""
        with self.reading() as session:
            return registry.zones(session)

    def entities(self, zone: str | None = None) -> list[Entity]:
        """All entities, or a zone's."""
        with self.reading() as session:
            return registry.entities(session, zone)

    def add_readings(self, readings: Readings, *, at: float) -> Receipt:
        """Keep and journal readings."""
        if not len(readings):
            return Receipt(0, 0, 0)
        with self.writing() as session:
            receipt, grown = ingest.add(session, readings, at=at, directory=self._directory)
        self._directory.extents.update(grown)  # only once it is committed
        return receipt

    def add_weather(self, issue: WeatherIssue, *, at: float) -> bool:
        """Keep and journal an issue."""
        with self.writing() as session:
            return journal.add_weather(session, issue, at=at)

    def add_command(self, command: Command) -> int:
        """Journal a command."""
        with self.writing() as session:
            return journal.add_command(session, command)

    def journal(self, zone: str, *, after: int, limit: int = 1000) -> list[Entry]:
        """Entries of a zone after a number."""
        with self.reading() as session:
            return journal.entries(session, zone, after=after, limit=limit)

    def heads(self) -> dict[str, int]:
        """The last journal number of each zone."""
        with self.reading() as session:
            return journal.heads(session)

    def commit(self, outcome: Outcome) -> None:
        """Record what folding left behind."""
        with self.writing() as session:
            outcomes.commit(session, outcome)

    def statuses(self, zones: Sequence[str] | None = None) -> dict[str, ZoneStatus]:
        """Where zones stand."""
        with self.reading() as session:
            return outcomes.statuses(session, zones)

    def positions(self) -> dict[str, tuple[int, int]]:
        """Position and generation of each status."""
        with self.reading() as session:
            return outcomes.positions(session)

    def readings(self, entity: int, *, start: int, end: int) -> Series:
        """An entity's readings."""
        with self.reading() as session:
            return readings.series(session, entity, start=start, end=end)

    def span(self, entity: int) -> tuple[int, int] | None:
        """The first and the last time of an entity's readings."""
        with self.reading() as session:
            return readings.span(session, entity)

    def latest(self, entities: Sequence[int], *, before: int) -> dict[int, tuple[int, float]]:
        """The newest usable reading of each entity."""
        with self.reading() as session:
            return readings.latest(session, entities, before=before)

    def weather(
        self, zone: str, *, start: int, end: int, until: int | None = None
    ) -> list[WeatherIssue]:
        """Issues that reach into a time span."""
        with self.reading() as session:
            return journal.weather(session, zone, start=start, end=end, until=until)

    def quarantine(
        self, *, entity: int | None = None, limit: int = 1000, offset: int = 0
    ) -> list[StoredReading]:
        """Quarantined readings."""
        with self.reading() as session:
            return readings.quarantine(session, entity, limit=limit, offset=offset)

    def signals(self, zone: str, *, start: int, end: int) -> list[SignalDay]:
        """Signal days that reach into a time span."""
        with self.reading() as session:
            return outcomes.signals(session, zone, start=start, end=end)

    def intervals(self, zone: str) -> IntervalSheet | None:
        """How wide forecasts of a zone are now."""
        with self.reading() as session:
            return outcomes.intervals(session, zone)

    def add_event(self, event: Event) -> None:
        """Record an event."""
        with self.writing() as session:
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
    ) -> list[Event]:
        """Events, numbered."""
        wanted = events.Wanted(zone, entity, kinds, start, end, after, before, limit, shared)
        with self.reading() as session:
            return events.find(session, wanted)

    def versions(
        self,
        *,
        zone: str | None = None,
        entity: str | None = None,
        status: VersionStatus | None = None,
        limit: int = 1000,
        offset: int = 0,
    ) -> list[Version]:
        """Versions, the newest first."""
        with self.reading() as session:
            return outcomes.versions(
                session, zone=zone, entity=entity, status=status, limit=limit, offset=offset
            )

    def version(self, version: str) -> Version | None:
        """One version by id."""
        with self.reading() as session:
            return outcomes.version(session, version)

    def mark_version(self, version: str, status: VersionStatus) -> None:
        """Change a version's status."""
        with self.writing() as session:
            outcomes.mark_version(session, version, status)

    def add_vintages(self, vintages: Sequence[Vintage]) -> None:
        """Keep forecasts as given."""
        with self.writing() as session:
            archive.add(session, vintages)

    def vintages(
        self,
        entity: str,
        *,
        start: int,
        end: int,
        issued_before: float | None = None,
        limit: int = 100,
    ) -> list[Vintage]:
        """Forecasts that reach into a time span."""
        with self.reading() as session:
            return archive.find(
                session, entity, start=start, end=end, issued_before=issued_before, limit=limit
            )

    def prune_vintages(self, before: float) -> int:
        """Forget old forecasts."""
        with self.writing() as session:
            return archive.prune(session, before)

    def add_token(self, token: Token) -> None:
        """Keep a token's hash."""
        with self.writing() as session:
            registry.add_token(session, token)

    def tokens(self) -> list[Token]:
        """All tokens."""
        with self.reading() as session:
            return registry.tokens(session)

    def remove_token(self, token: str) -> bool:
        """Forget a token."""
        with self.writing() as session:
            return registry.remove_token(session, token)

    def counts(self) -> Mapping[str, int]:
        """Rows per table."""
        with self.reading() as session:
            return counts(session)

    def check(self) -> None:
        """Read something."""
        with self.reading() as session:
            session.rows("SELECT name FROM counters")


def counts(session: Session) -> dict[str, int]:
    """Rows per table; the large ones are counted as they are written."""
    (sums,) = session.rows(
        "SELECT COALESCE(SUM(head), 0), COALESCE(SUM(readings), 0), COALESCE(SUM(issues), 0) "
        "FROM journals"
    )
    found = dict(zip(("journal", "readings", "weather"), map(int, sums), strict=True))
    found |= {row[0]: row[1] for row in session.rows("SELECT name, value FROM counters")}
    for table in ("zones", "versions", "statuses", "signals", "tokens"):
        found[table] = session.rows(f"SELECT COUNT(*) FROM {table}")[0][0]
    found["quarantine"] = session.rows("SELECT COUNT(*) FROM readings WHERE flag = 1")[0][0]
    return found
