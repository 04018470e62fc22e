"""Readiness, status and health of the service."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from clearwatt.service.api.schemas.base import Outgoing, Stamp
from clearwatt.service.api.schemas.cluster import NodeAnswer
from clearwatt.service.status import ZoneStatus
from clearwatt.service.times import optional_text


class ZoneSummary(Outgoing):
    """Summary of a zone."""

    id: str
    state: str
    until: Stamp | None = Field(description="Time of the last row learned from")
    watermark: Stamp | None = Field(description="Time of the newest reading")
    pending_rows: int
    journal_behind: int = Field(description="Journal entries not yet processed")
    error: str | None

    @classmethod
    def of(cls, status: ZoneStatus, journal: int) -> ZoneSummary:
        """Summary from a zone's status and the head of its journal."""
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
    """Status of the service and its zones."""

    version: str
    open: bool = Field(description="Whether no token is required")
    zones: list[ZoneSummary]
    entities: dict[str, int] = Field(description="Number of entities by state")
    counts: dict[str, int] = Field(description="Rows of the store")
    size_bytes: int
    learner: dict[str, Any]


class ReadinessAnswer(Outgoing):
    """Whether the service is ready; if not, why."""

    status: Literal["ok", "not ready"]
    reasons: list[str] = Field(description="Why it is not ready")
    notes: list[str] = Field(description="Problems during which it stays ready")
    open: bool = Field(description="Whether no token is required, because none exists")


class ZoneReport(ZoneSummary):
    """Summary of a zone, and its last forecast."""

    updating: bool = Field(description="Whether its models are being trained")
    forecast_at: Stamp | None = Field(
        description="Time of the last forecast since the service started"
    )
    weather_at: Stamp | None = Field(description="Time of issue of its weather")


class ModelCounts(Outgoing):
    """Number of models."""

    versions: int = Field(description="Stored versions of any status")
    deployed: int = Field(description="Entities with a deployed model")
    awaiting: int = Field(description="Entities with a model that awaits approval")


class HealthReport(Outgoing):
    """Health report of the service."""

    at: Stamp
    ready: bool
    reasons: list[str] = Field(description="Why it is not ready")
    notes: list[str] = Field(description="Problems during which it stays ready")
    readings_per_second: float = Field(description="Readings stored, over the last minute")
    forecast_age_seconds: float | None = Field(description="Seconds since the last forecast")
    queue: int = Field(description="Journal entries not yet processed")
    training: int = Field(description="Zones whose models are being trained")
    size_bytes: int
    counts: dict[str, int] = Field(description="Rows of the store")
    models: ModelCounts
    learner: dict[str, Any]
    software: dict[str, str] = Field(description="Versions of packages")
    zones: list[ZoneReport]
    nodes: list[NodeAnswer] = Field(description="Nodes of a cluster; none on one machine")
