"""What any store must be able to do; conformance checks in `clearwatt.testing` hold both to it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from clearwatt.errors import ClearwattError
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


class StoreFullError(ClearwattError):
    """The disk is full: nothing was written; free space and send it again."""


class StoreUnavailableError(ClearwattError):
    """The database does not answer; nothing was written."""


class ConflictError(ClearwattError):
    """What is to be registered exists already and is different."""


class Series(NamedTuple):
    """Stored readings of one entity: times (n), values (n), flags (n)."""

    times: npt.NDArray[np.int64]
    values: npt.NDArray[np.float64]
    flags: npt.NDArray[np.uint8]


class Store(ABC):
    """Durable when a method returns; safe to call from several threads and processes at once.

    Every method that writes is one transaction: all of it or nothing.
    """

    # Who there is.

    @abstractmethod
    def add_zone(self, zone: Zone) -> bool:
        """Register a zone; False if it exists and is the same, ConflictError if it differs."""

    @abstractmethod
    def add_entities(self, entities: Sequence[Entity]) -> list[Entity]:
        """Register entities and give them their numbers; the same again changes nothing.

        All or nothing; ConflictError if one exists and differs, DataError if a zone is unknown.
        """

    @abstractmethod
    def zones(self) -> list[Zone]:
        """All zones, by id."""

    @abstractmethod
    def entities(self, zone: str | None = None) -> list[Entity]:
        """All entities, or a zone's, in order of their numbers."""

    # What comes in; each appends to the journal of its zone.

    @abstractmethod
    def add_readings(self, readings: Readings, *, at: float) -> Receipt:
        """Keep readings; what is stored already with the same value is left out of the journal.

        A different value for a stored time is a correction: it replaces the value, is journaled,
        and leaves an event "correction" per entity (how many readings, not their values).
        Two readings of one batch for the same entity and time: the last one counts.
        NaN equals NaN. Entities may be of several zones; each zone gets its own journal entry.
        """

    @abstractmethod
    def add_weather(self, issue: WeatherIssue, *, at: float) -> bool:
        """Keep an issue; False if the same (zone, issued_at) is there with the same content.

        Different content for a known issue replaces it, is journaled, and leaves an event.
        """

    @abstractmethod
    def add_command(self, command: Command) -> int:
        """Append a command to the journal of its zone and return its number."""

    # The learner's side.

    @abstractmethod
    def journal(self, zone: str, *, after: int, limit: int = 1000) -> list[Entry]:
        """Entries of a zone after a number, in order."""

    @abstractmethod
    def heads(self) -> dict[str, int]:
        """The number of the last journal entry of each zone (0 where there is none)."""

    @abstractmethod
    def commit(self, outcome: Outcome) -> None:
        """Record what folding left behind.

        Events whose key is known are left as they are; versions, statuses, verdicts and signal
        days replace what was there under the same key. A deployed version supersedes its
        component's previous one, one that awaits approval the previous one that did.
        """

    @abstractmethod
    def statuses(self, zones: Sequence[str] | None = None) -> dict[str, ZoneStatus]:
        """Where zones stand; those that were never folded are left out."""

    def status(self, zone: str) -> ZoneStatus:
        """The status of a zone; one that was never learned is waiting."""
        return self.statuses([zone]).get(zone) or ZoneStatus(zone)

    @abstractmethod
    def positions(self) -> dict[str, tuple[int, int]]:
        """Position and generation of each status, cheaply: whether one is worth reading again."""

    # Reading back.

    @abstractmethod
    def readings(self, entity: int, *, start: int, end: int) -> Series:
        """Readings with start <= time < end, by time."""

    @abstractmethod
    def span(self, entity: int) -> tuple[int, int] | None:
        """The times of the first and the last reading of an entity; None if it has none."""

    @abstractmethod
    def latest(self, entities: Sequence[int], *, before: int) -> dict[int, tuple[int, float]]:
        """The newest accepted or released reading of each entity before a time."""

    @abstractmethod
    def weather(
        self, zone: str, *, start: int, end: int, until: int | None = None
    ) -> list[WeatherIssue]:
        """Issues that reach into start <= time < end, by issue time, cut to whole issues.

        With ``until`` only issues whose journal number is at most that.
        """

    @abstractmethod
    def quarantine(
        self, *, entity: int | None = None, limit: int = 1000, offset: int = 0
    ) -> list[StoredReading]:
        """Quarantined readings, the newest first."""

    @abstractmethod
    def signals(self, zone: str, *, start: int, end: int) -> list[SignalDay]:
        """Signal days that reach into start <= time < end, by day."""

    @abstractmethod
    def intervals(self, zone: str) -> IntervalSheet | None:
        """How wide forecasts of a zone are now; None before its first model."""

    @abstractmethod
    def add_event(self, event: Event) -> None:
        """Record an event that is not the learner's."""

    @abstractmethod
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
        """Events with their numbers (``seq``): the newest first, or oldest first if ``after``.

        ``start`` and ``end`` bound the wall clock; ``after`` and ``before`` the number. With
        ``shared`` those of an entity include the events that are about its whole zone.
        """

    @abstractmethod
    def versions(
        self,
        *,
        zone: str | None = None,
        entity: str | None = None,
        status: VersionStatus | None = None,
        limit: int = 1000,
        offset: int = 0,
    ) -> list[Version]:
        """Versions, the newest first; an entity's include the shared ones of its zone."""

    @abstractmethod
    def version(self, version: str) -> Version | None:
        """One version by id."""

    @abstractmethod
    def mark_version(self, version: str, status: VersionStatus) -> None:
        """Change a version's status (a damaged file is found outside the learner)."""

    @abstractmethod
    def add_vintages(self, vintages: Sequence[Vintage]) -> None:
        """Keep forecasts as given."""

    @abstractmethod
    def vintages(
        self,
        entity: str,
        *,
        start: int,
        end: int,
        issued_before: float | None = None,
        limit: int = 100,
    ) -> list[Vintage]:
        """Forecasts that reach into start <= time < end, the newest issue first."""

    @abstractmethod
    def prune_vintages(self, before: float) -> int:
        """Forget forecasts issued before a time and return how many; none are forgotten unasked."""

    # Tokens.

    @abstractmethod
    def add_token(self, token: Token) -> None:
        """Keep a token's hash; ConflictError if the id is taken."""

    @abstractmethod
    def tokens(self) -> list[Token]:
        """All tokens."""

    @abstractmethod
    def remove_token(self, token: str) -> bool:
        """Forget a token by id; False if there is none."""

    # Upkeep.

    @abstractmethod
    def counts(self) -> Mapping[str, int]:
        """Rows per table, cheaply enough for a page that is looked at every few seconds."""

    @abstractmethod
    def size(self) -> int:
        """Bytes on disk."""

    @abstractmethod
    def backup(self, folder: Path) -> None:
        """Write a consistent copy of everything into a folder while the service runs."""

    @abstractmethod
    def exclusive(self) -> AbstractContextManager[None]:
        """Hold the store as the only service; ConflictError if another has it."""

    @abstractmethod
    def check(self) -> None:
        """Raise StoreUnavailableError if it cannot be read now."""

    @abstractmethod
    def close(self) -> None:
        """Let go of every connection."""
