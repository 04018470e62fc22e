"""The fleet at a glance."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from clearwatt.service.api.schemas.base import Id, Outgoing, Page, Stamp
from clearwatt.service.api.schemas.entities import Kind
from clearwatt.service.times import optional_text
from clearwatt.service.views.overview import AlertKind, FleetState, Member

Sort = Literal[
    "alerts",
    "name",
    "-name",
    "zone",
    "-zone",
    "error",
    "-error",
    "trend",
    "-trend",
    "fill",
    "-fill",
    "updated",
    "-updated",
]


class FleetQuery(Page):
    """Which entities, and in which order."""

    zone: Id | None = None
    kind: Kind | None = None
    state: FleetState | None = None
    q: str | None = Field(default=None, max_length=200, description="Part of an id or a name")
    alerts: bool = Field(default=False, description="Only those that need somebody")
    sort: Sort = Field(
        default="alerts",
        description="alerts: those that need somebody first; error: of the last day; trend: that "
        "error by the week's; fill: of the novelty buffer; - is descending",
    )


class AlertAnswer(Outgoing):
    """Something that needs a person."""

    kind: AlertKind
    message: str


class FleetEntity(Outgoing):
    """An entity at a glance."""

    id: str
    name: str
    zone: str
    kind: Kind
    unit: str
    state: FleetState
    alerts: list[AlertAnswer]
    rmse_day: float | None = Field(description="Live error of the last day, unit of power")
    rmse_week: float | None = Field(description="Of the last week")
    spark: list[float | None] = Field(description="Of each of the last seven days, oldest first")
    novel: int
    familiar: int
    novelty_capacity: int | None
    updates: int
    last_update: Stamp | None

    @classmethod
    def of(cls, member: Member) -> FleetEntity:
        """As a member of the fleet stands."""
        entity, status = member.entity, member.status
        component = status.component
        return cls(
            id=entity.id,
            name=entity.name,
            zone=entity.zone,
            kind=entity.kind,
            unit=entity.unit,
            state=member.state,
            alerts=[AlertAnswer(kind=kind, message=message) for kind, message in member.alerts],
            rmse_day=status.live.rmse_day,
            rmse_week=status.live.rmse_week,
            spark=list(status.spark),
            novel=component.novel,
            familiar=component.familiar,
            novelty_capacity=component.capacity,
            updates=component.updates,
            last_update=optional_text(status.last_update),
        )


class FleetPage(Outgoing):
    """A part of the fleet that was asked for."""

    entities: list[FleetEntity]
    total: int = Field(description="How many fit what was asked")
    everyone: int = Field(description="How many there are")
    alerts: int = Field(description="How many of everyone need somebody")
    states: dict[FleetState, int] = Field(description="How many of everyone are in which state")
    limit: int
    offset: int
