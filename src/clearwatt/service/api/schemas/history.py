"""Events, model versions and quarantined readings."""

from __future__ import annotations

import math
from typing import Any, Literal

from pydantic import Field

from clearwatt.service.api.schemas.base import Id, Outgoing, Page, Query, Stamp, TimeRange
from clearwatt.service.records import ServiceEvent, StoredReading, StoredVersion, VersionStatus
from clearwatt.service.times import optional_text, text
from clearwatt.strategies import ComponentName


class EventFilter(TimeRange):
    """Filter of events; ``start`` and ``end`` bound the time of recording."""

    zone: Id | None = None
    entity: Id | None = None
    shared: bool = Field(default=False, description="With an entity: also events of its whole zone")
    kind: list[str] = Field(default_factory=list, max_length=30)


class EventQuery(EventFilter):
    """Filter, page and format of events."""

    after: int | None = Field(default=None, ge=0, description="Numbers above this, oldest first")
    before: int | None = Field(default=None, ge=0, description="Numbers below this, newest first")
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
    at: Stamp
    time: Stamp | None = Field(description="Time of the readings concerned")
    actor: str
    zone: str | None
    entity: str | None
    details: dict[str, Any]

    @classmethod
    def of(cls, event: ServiceEvent) -> EventAnswer:
        """The answer for an event."""
        return cls(
            seq=event.seq,
            key=event.key,
            kind=event.kind,
            message=event.message,
            at=text(event.at),
            time=optional_text(event.time),
            actor=event.actor,
            zone=event.zone,
            entity=event.entity,
            details=dict(event.details),
        )


class StreamQuery(Query):
    """Start of a stream of events."""

    after: int | None = Field(default=None, ge=0, description="Number of the last event received")


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
    at: Stamp
    time: Stamp | None = Field(description="Time of the last reading of its training")
    threshold: float | None
    event: str | None = Field(description="Key of the event of its training")

    @classmethod
    def of(cls, version: StoredVersion) -> VersionAnswer:
        """The answer for a version, without its path, which is internal."""
        return cls(
            id=version.id,
            component=version.component,
            zone=version.zone,
            entity=version.entity,
            number=version.number,
            status=version.status,
            at=text(version.at),
            time=optional_text(version.time),
            threshold=version.threshold if math.isfinite(version.threshold) else None,
            event=version.event,
        )


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
    time: Stamp
    value: float | None
    reason: str
    received: Stamp

    @classmethod
    def of(cls, reading: StoredReading, entity: str) -> QuarantinedReading:
        """The answer for a reading of an entity."""
        return cls(
            entity=entity,
            time=text(reading.time),
            value=reading.value if math.isfinite(reading.value) else None,
            reason=reading.reason,
            received=text(reading.received),
        )


class QuarantinePage(Outgoing):
    """One page of readings, newest first; ``next_offset`` None: the last page."""

    readings: list[QuarantinedReading]
    next_offset: int | None
