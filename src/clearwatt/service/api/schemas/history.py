"""Events, model versions and quarantined readings."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from clearwatt.service.api.schemas.base import (
    EventNumber,
    FiniteOrNone,
    Id,
    Outgoing,
    Page,
    PrintableText,
    Query,
    RecordedTime,
    TimeRange,
)
from clearwatt.service.records import ServiceEvent, StoredReading, StoredVersion, VersionStatus
from clearwatt.service.times import text
from clearwatt.strategies import ComponentName


class EventFilter(TimeRange):
    """Filter of events; ``start`` and ``end`` bound the time of recording."""

    zone: Id | None = None
    entity: Id | None = None
    shared: bool = Field(default=False, description="With an entity: also events of its whole zone")
    kind: list[PrintableText] = Field(default_factory=list, max_length=30)


class EventQuery(EventFilter):
    """Filter, page and format of events."""

    after: EventNumber | None = Field(default=None, description="Numbers above this, oldest first")
    before: EventNumber | None = Field(default=None, description="Numbers below this, newest first")
    limit: int = Field(default=100, ge=1, le=1000)
    format: Literal["json", "csv"] | None = Field(
        default=None, description="Default: by the Accept header, else JSON"
    )


class EventAnswer(Outgoing):
    """An action of the service or of a person."""

    seq: int
    key: str
    kind: str
    message: str
    at: RecordedTime
    time: RecordedTime | None = Field(description="Time of the readings concerned")
    actor: str
    zone: str | None
    entity: str | None
    details: dict[str, Any]

    @classmethod
    def of(cls, event: ServiceEvent) -> EventAnswer:
        """The answer for an event."""
        return cls.model_validate(event, from_attributes=True)


class StreamQuery(Query):
    """Start of a stream of events."""

    after: EventNumber | None = Field(default=None, description="Number of the last event received")


class EventPage(Outgoing):
    """One page of events; ``next`` is the number to continue from, with after or before."""

    events: list[EventAnswer]
    next: int | None


class VersionQuery(Page):
    """Filter and page of versions, newest first."""

    zone: Id | None = None
    entity: Id | None = None
    status: VersionStatus | None = None


class VersionAnswer(Outgoing):
    """A version of a trained model."""

    id: str
    component: ComponentName
    zone: str
    entity: str | None
    number: int
    status: VersionStatus
    at: RecordedTime
    time: RecordedTime | None = Field(description="Time of the last reading of its training")
    threshold: FiniteOrNone
    event: str | None = Field(description="Key of the event of its training")

    @classmethod
    def of(cls, version: StoredVersion) -> VersionAnswer:
        """The answer for a version, without its path, which is internal."""
        return cls.model_validate(version, from_attributes=True)


class VersionPage(Outgoing):
    """One page of versions; ``next_offset`` None: the last page."""

    models: list[VersionAnswer]
    next_offset: int | None


class QuarantineQuery(Page):
    """Filter and page of quarantined readings."""

    entity: Id | None = None


class QuarantinedReading(Outgoing):
    """A reading that failed a quality check."""

    entity: str
    time: RecordedTime
    value: FiniteOrNone
    reason: str
    received: RecordedTime

    @classmethod
    def of(cls, reading: StoredReading, entity: str) -> QuarantinedReading:
        """The answer for a reading of an entity."""
        return cls(
            entity=entity,
            time=text(reading.time),
            value=reading.value,
            reason=reading.reason,
            received=text(reading.received),
        )


class QuarantinePage(Outgoing):
    """One page of readings, newest first; ``next_offset`` None: the last page."""

    readings: list[QuarantinedReading]
    next_offset: int | None
