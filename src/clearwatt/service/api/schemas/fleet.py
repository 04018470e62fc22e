"""Overview of the fleet."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from clearwatt.service.api.schemas.base import Id, Outgoing, Page, Stamp
from clearwatt.service.api.schemas.entities import KindName
from clearwatt.service.times import optional_text
from clearwatt.service.views.overview import AlertKind, EntityOverview, FleetState

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
    "skill",
    "-skill",
    "coverage",
    "-coverage",
    "share",
    "-share",
]


class FleetQuery(Page):
    """Filter, order and page of the fleet."""

    zone: Id | None = None
    kind: KindName | None = None
    state: FleetState | None = None
    q: str | None = Field(default=None, max_length=200, description="Part of an id or a name")
    alerts: bool = Field(default=False, description="Only entities with alerts")
    sort: Sort = Field(
        default="alerts",
        description="alerts: entities with alerts first, then by skill; error: of the last day; "
        "share: that error as a share of capacity; trend: its ratio to the week's; skill and "
        "coverage: of two weeks, the worst first; fill: of the novelty buffer; - is descending",
    )


class AlertAnswer(Outgoing):
    """A condition that needs a person."""

    kind: AlertKind
    message: str


class FleetEntity(Outgoing):
    """An entity in the overview."""

    id: str
    name: str
    zone: str
    kind: KindName
    unit: str
    capacity: float | None = Field(description="Rated capacity, unit of power")
    state: FleetState
    alerts: list[AlertAnswer]
    rmse_day: float | None = Field(description="Live error of the last day, unit of power")
    rmse_week: float | None = Field(description="Live error of the last week")
    skill: float | None = Field(
        description="1 - error / error of persistence over two weeks; below 0: worse"
    )
    coverage: float | None = Field(
        description="Share of the readings of two weeks inside the 90 % interval"
    )
    spark: list[float | None] = Field(description="Error of each of the last 7 days, oldest first")
    novel: int
    familiar: int
    novelty_capacity: int | None
    updates: int
    last_update: Stamp | None

    @classmethod
    def of(cls, member: EntityOverview) -> FleetEntity:
        """The answer for a member of the fleet."""
        entity, status = member.entity, member.status
        component = status.component
        return cls(
            id=entity.id,
            name=entity.name,
            zone=entity.zone,
            kind=entity.kind,
            unit=entity.unit,
            capacity=entity.capacity,
            state=member.state,
            alerts=[AlertAnswer(kind=kind, message=message) for kind, message in member.alerts],
            rmse_day=status.live.rmse_day,
            rmse_week=status.live.rmse_week,
            skill=status.skill.skill,
            coverage=status.interval.coverage_two_weeks,
            spark=list(status.spark),
            novel=component.novel,
            familiar=component.familiar,
            novelty_capacity=component.capacity,
            updates=component.updates,
            last_update=optional_text(status.last_update),
        )


class FleetPage(Outgoing):
    """One page of the matching entities, with counts over the whole fleet."""

    entities: list[FleetEntity]
    total: int = Field(description="Number of matching entities")
    everyone: int = Field(description="Number of all entities")
    alerts: int = Field(description="Number of all entities with alerts")
    states: dict[FleetState, int] = Field(description="Number of all entities by state")
    limit: int
    offset: int
