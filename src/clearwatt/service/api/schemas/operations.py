"""How the service itself is doing."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from clearwatt.service.api.schemas.base import Outgoing, Stamp
from clearwatt.service.status import ZoneStatus
from clearwatt.service.times import optional_text


class ZoneGlance(Outgoing):
    """A zone at a glance."""

    id: str
    state: str
    until: Stamp | None = Field(description="The last row that was learned from")
    watermark: Stamp | None = Field(description="The newest reading")
    pending_rows: int
    journal_behind: int = Field(description="Entries of its journal still to be learned from")
    error: str | None

    @classmethod
    def of(cls, status: ZoneStatus, journal: int) -> ZoneGlance:
        """From a zone's status and the length of its journal."""
        return cls(
            id=status.zone,
            state=status.state,
            until=optional_text(status.until),
            watermark=optional_text(status.watermark),
            pending_rows=status.pending_rows,
            journal_behind=journal - status.position,
            error=status.error,
        )


class StatusAnswer(Outgoing):
    """The service at a glance."""

    version: str
    open: bool = Field(description="Whether no token is needed")
    zones: list[ZoneGlance]
    entities: dict[str, int] = Field(description="How many are in which state")
    counts: dict[str, int] = Field(description="Rows of the store")
    size_bytes: int
    learner: dict[str, Any]


class Health(Outgoing):
    """Whether the service can do its work; if not, why."""

    status: Literal["ok", "not ready"]
    reasons: list[str] = Field(description="Why it is not ready")
    notes: list[str] = Field(description="What does not keep it from working, but is not right")
    open: bool = Field(description="Whether no token is needed, because none exists")


class ZoneReport(ZoneGlance):
    """A zone, and when it was last forecast."""

    updating: bool = Field(description="Whether its models are being trained")
    forecast_at: Stamp | None = Field(description="When it was last forecast, since the start")
    weather_at: Stamp | None = Field(description="When the weather of that forecast was issued")


class ModelCounts(Outgoing):
    """How many models there are."""

    versions: int = Field(description="Kept, of any status")
    deployed: int = Field(description="Entities with one in service")
    awaiting: int = Field(description="Entities with one that awaits approval")


class Report(Outgoing):
    """How the service fares, in numbers."""

    at: Stamp
    ready: bool
    reasons: list[str] = Field(description="Why it is not ready")
    notes: list[str] = Field(description="What does not keep it from working, but is not right")
    readings_per_second: float = Field(description="Taken in, over the last minute")
    forecast_age_seconds: float | None = Field(description="Since any forecast was given")
    queue: int = Field(description="Journal entries that wait to be learned from")
    training: int = Field(description="Zones whose models are being trained")
    size_bytes: int
    counts: dict[str, int] = Field(description="Rows of the store")
    models: ModelCounts
    learner: dict[str, Any]
    software: dict[str, str] = Field(description="Releases")
    zones: list[ZoneReport]
