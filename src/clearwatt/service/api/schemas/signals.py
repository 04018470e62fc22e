"""Readings, forecasts, errors and thresholds of an entity over time."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from clearwatt.service.api.schemas.base import Id, Outgoing, Query, Stamp, TimeRange
from clearwatt.service.api.schemas.entities import TimeWindow
from clearwatt.service.leads import LeadQuality
from clearwatt.service.status import EntityStatus
from clearwatt.service.times import optional_text
from clearwatt.service.views.thresholds import ThresholdChange
from clearwatt.service.views.zone_leads import ZoneLead


class SignalQuery(TimeRange):
    """Entity, range and maximum number of points."""

    entity: Id
    points: int = Field(default=500, ge=2, le=5000)
    by: Literal["mean", "extremes"] = Field(
        default="mean",
        description="How several rows are reduced: to their mean, or to two points, "
        "their minimum and maximum, so that peaks stay visible",
    )


class ThresholdStep(Outgoing):
    """A threshold and the time from which it applies; null: from the beginning."""

    time: Stamp | None
    value: float

    @classmethod
    def of(cls, step: ThresholdChange) -> ThresholdStep:
        """The answer for a change of the threshold."""
        return cls(time=optional_text(step.time), value=step.value)


class LeadQuery(Query):
    """A zone."""

    zone: Id


class LeadAnswer(Outgoing):
    """Forecasts of one lead over the two weeks before the last midnight (UTC).

    A lead is the time from the issue to the time that is forecast. What is known at the issue are
    readings older than the reporting delay. Persistence is the better of repeating the last known
    reading and the same hour of the last known day.
    """

    lead: int = Field(description="Seconds", examples=[3600])
    n: int = Field(description="Number of steps compared")
    rmse: float | None = Field(
        description="Error of the forecasts, unit of power; null for entities of several units"
    )
    rmse_share: float | None = Field(
        description="The same as a share of capacity, or of the highest power of the warm-up"
    )
    skill: float | None = Field(
        description="1 - error / error of persistence; below 0: worse than persistence"
    )
    coverage: float | None = Field(
        description="Share of readings inside the 90 % interval of the forecasts of this lead"
    )

    @classmethod
    def of(cls, quality: LeadQuality, size: float | None) -> LeadAnswer:
        """The answer for an entity of some size."""
        return cls(
            lead=quality.lead,
            n=quality.n,
            rmse=quality.rmse,
            rmse_share=quality.rmse / size if size and quality.rmse is not None else None,
            skill=quality.skill,
            coverage=quality.coverage,
        )

    @classmethod
    def of_zone(cls, pooled: ZoneLead, rmse: float | None) -> LeadAnswer:
        """The answer for a zone."""
        return cls(
            lead=pooled.lead,
            n=pooled.n,
            rmse=rmse,
            rmse_share=pooled.share,
            skill=pooled.skill,
            coverage=pooled.coverage,
        )


def lead_answers(status: EntityStatus) -> list[LeadAnswer]:
    """Errors by lead of an entity."""
    return [LeadAnswer.of(each, status.size) for each in status.leads if each.n]


class EntityLeads(Outgoing):
    """Errors of an entity by lead."""

    entity: str
    unit: str
    leads: list[LeadAnswer]


class LeadList(Outgoing):
    """Errors of a zone by lead, all of its entities together, and of each of them."""

    zone: str
    unit: str | None = Field(description="Unit of all its entities; null if they have several")
    leads: list[LeadAnswer]
    entities: list[EntityLeads]


class SignalAnswer(Outgoing):
    """Signals over time; rows are reduced to equal intervals if they exceed the points."""

    entity: str
    unit: str
    life: TimeWindow | None = Field(description="From the first reading to the end of the last")
    times: list[Stamp]
    measured: list[float | None]
    forecast: list[float | None]
    error: list[float | None] = Field(description="Absolute error, unit of power")
    reconstruction: list[float | None]
    threshold: float | None = Field(description="Current threshold, unit of power")
    reconstruction_threshold: float | None
    thresholds: list[ThresholdStep] = Field(
        description="Thresholds since the first model, oldest first"
    )
    reconstruction_thresholds: list[ThresholdStep]
    leads: list[LeadAnswer] = Field(
        default_factory=list,
        description="Errors by lead over two weeks; empty before the first full day",
    )
