"""What the models saw of an entity, in as many points as wanted."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from clearwatt.service.api.schemas.base import Id, Outgoing, Span, Stamp
from clearwatt.service.api.schemas.entities import Window
from clearwatt.service.times import optional_text
from clearwatt.service.views.thresholds import Step


class SignalQuery(Span):
    """Of which entity, and in how many points at most."""

    entity: Id
    points: int = Field(default=500, ge=2, le=5000)
    by: Literal["mean", "extremes"] = Field(
        default="mean",
        description="What stands for a stretch of several rows: their mean, or, in two points, "
        "their lowest and highest, so that peaks stay visible",
    )


class ThresholdStep(Outgoing):
    """A threshold and since when it has been in force; null is since the beginning."""

    time: Stamp | None
    value: float

    @classmethod
    def of(cls, step: Step) -> ThresholdStep:
        """A step with its time in words."""
        return cls(time=optional_text(step.time), value=step.value)


class SignalAnswer(Outgoing):
    """What the models saw; equal stretches stand for the rows where those are more than points."""

    entity: str
    unit: str
    life: Window | None = Field(description="From the first reading to after the last")
    times: list[Stamp]
    measured: list[float | None]
    forecast: list[float | None]
    error: list[float | None] = Field(description="Absolute, in the unit of power")
    reconstruction: list[float | None]
    threshold: float | None = Field(description="In force now, in the unit of power")
    reconstruction_threshold: float | None
    thresholds: list[ThresholdStep] = Field(description="Since the first model, oldest first")
    reconstruction_thresholds: list[ThresholdStep]
