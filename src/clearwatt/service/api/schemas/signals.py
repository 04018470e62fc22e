"""Readings, forecasts, errors and thresholds of an entity over time."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from clearwatt.service.api.schemas.base import Id, Outgoing, Stamp, TimeRange
from clearwatt.service.api.schemas.entities import TimeWindow
from clearwatt.service.times import optional_text
from clearwatt.service.views.thresholds import ThresholdChange


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
