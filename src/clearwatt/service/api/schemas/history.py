"""What happened: events, model versions, quarantined readings, signals."""

from __future__ import annotations

import math
from typing import Any, Literal

from pydantic import Field

from clearwatt.service.api.schemas.base import Component, Id, Outgoing, Page, Query, Span, Stamp
from clearwatt.service.records import Event, StoredReading, Version
from clearwatt.service.times import optional_text, text

VersionState = Literal["deployed", "superseded", "refused", "awaiting", "damaged"]


class EventFilter(Span):
    """Which events; ``start`` and ``end`` bound when they were recorded."""

    zone: Id | None = None
    entity: Id | None = None
    shared: bool = Field(
        default=False, description="With an entity: also what is about its whole zone"
    )
    kind: list[str] = Field(default_factory=list, max_length=30)


class EventQuery(EventFilter):
    """Which part of them, and in what form."""

    after: int | None = Field(default=None, ge=0, description="Numbers above this, oldest first")
    before: int | None = Field(default=None, ge=0, description="Numbers below this, newest first")
    limit: int = Field(default=100, ge=1, le=1000)
    format: Literal["json", "csv"] | None = Field(
        default=None, description="By default as the Accept header says, else JSON"
    )


class EventAnswer(Outgoing):
    """What the system did on its own or a person made it do."""

    seq: int
    key: str
    kind: str
    message: str
    at: Stamp
    time: Stamp | None = Field(description="The time of the readings it is about")
    actor: str
    zone: str | None
    entity: str | None
    details: dict[str, Any]

    @classmethod
    def of(cls, event: Event) -> EventAnswer:
        """An event with its times in words."""
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
    """From where on to listen."""

    after: int | None = Field(default=None, ge=0, description="The number of the last event known")


class EventPage(Outgoing):
    """Events; ``next`` is the number to go on from, with after or before as it was asked."""

    events: list[EventAnswer]
    next: int | None


class VersionQuery(Page):
    """Which versions, the newest first."""

    zone: Id | None = None
    entity: Id | None = None
    status: VersionState | None = None


class VersionAnswer(Outgoing):
    """A trained model."""

    id: str
    component: Component
    zone: str
    entity: str | None
    number: int
    status: VersionState
    at: Stamp
    time: Stamp | None = Field(description="The time of the last reading it was trained on")
    threshold: float | None
    event: str | None = Field(description="The key of the event that tells how it came about")

    @classmethod
    def of(cls, version: Version) -> VersionAnswer:
        """A version without its path, which is the service's own affair."""
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
    """Versions; there are more if ``next_offset`` is given."""

    models: list[VersionAnswer]
    next_offset: int | None


class QuarantineQuery(Page):
    """Whose quarantined readings."""

    entity: Id | None = None


class QuarantinedReading(Outgoing):
    """A reading that failed the quality checks."""

    entity: str
    time: Stamp
    value: float | None
    reason: str
    received: Stamp

    @classmethod
    def of(cls, reading: StoredReading, entity: str) -> QuarantinedReading:
        """A reading by its entity's id."""
        return cls(
            entity=entity,
            time=text(reading.time),
            value=reading.value if math.isfinite(reading.value) else None,
            reason=reading.reason,
            received=text(reading.received),
        )


class QuarantinePage(Outgoing):
    """The newest first; there are more if ``next_offset`` is given."""

    readings: list[QuarantinedReading]
    next_offset: int | None
