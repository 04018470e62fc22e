"""Forecasts, and forecasts issued in the past."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import numpy as np
import numpy.typing as npt
from pydantic import Field, field_validator

from clearwatt.intervals import LEVELS
from clearwatt.service.api.schemas.base import Id, Outgoing, Stamp, Time, TimeRange, numbers
from clearwatt.service.forecasting.answers import EntityForecast
from clearwatt.service.forecasting.fallback import Source
from clearwatt.service.records import Vintage
from clearwatt.service.times import optional_text, text, texts
from clearwatt.service.views.backlog import Backlog

MOST_STEPS = 250_000
"""Maximum steps of one answer, over all its entities."""
MOST_NAMED = 500
MOST_LEVELS = 20

Level = Annotated[float, Field(gt=0, lt=1)]


class ForecastQuery(TimeRange):
    """Entities by id, or all of a zone; default range: 48 hours from now."""

    entity: list[Id] = Field(default_factory=list, max_length=MOST_NAMED)
    zone: Id | None = None
    level: list[Level] = Field(
        default=list(LEVELS),
        max_length=MOST_LEVELS,
        description="Levels of the quantiles, ascending",
    )
    intervals: bool = Field(default=True, description="Whether to include quantiles")

    @field_validator("level")
    @classmethod
    def _check_levels(cls, levels: list[float]) -> list[float]:
        if sorted(set(levels)) != levels:
            raise ValueError("levels must ascend, each once, as level=0.05&level=0.95")
        return levels


class WeatherUsed(Outgoing):
    """Times of issue of the oldest and newest weather used."""

    oldest: Stamp
    newest: Stamp


class MissingInput(Outgoing):
    """A missing input: from start to end, both included, and why."""

    cause: str = Field(description="weather, model, nonsense or readings")
    reason: str
    start: Stamp
    end: Stamp


class ForecastAnswer(Outgoing):
    """The forecast of one entity."""

    entity: str
    unit: str
    issued_at: Stamp
    measured_until: Stamp | None = Field(
        default=None, description="Time of the newest measurement that the forecast uses"
    )
    encoder: str | None
    predictor: str | None
    weather: WeatherUsed | None
    times: list[Stamp]
    values: list[float | None]
    sources: list[str] = Field(
        description="model, or a fallback: yesterday, last week, climatology, none"
    )
    fallback: bool = Field(description="Whether any step comes from a fallback")
    missing: list[MissingInput]
    levels: list[float] = Field(
        default_factory=list, description="Levels of the quantiles; empty: none are known yet"
    )
    quantiles: list[list[float | None]] = Field(
        default_factory=list,
        description="For each level a value per time; null where a fallback answers",
    )

    @classmethod
    def of(cls, forecast: EntityForecast, times: list[str]) -> ForecastAnswer:
        """A forecast in columns; ``times`` is its times as text, shared by many forecasts."""
        weather = forecast.weather
        return cls(
            entity=forecast.entity,
            unit=forecast.unit,
            issued_at=text(forecast.issued_at),
            measured_until=optional_text(forecast.measured_until),
            encoder=forecast.encoder,
            predictor=forecast.predictor,
            weather=weather and WeatherUsed(oldest=text(weather[0]), newest=text(weather[1])),
            times=times,
            values=numbers(forecast.values),
            sources=labels(forecast.sources),
            fallback=bool(forecast.sources.any()),
            missing=[
                MissingInput(
                    cause=each.cause,
                    reason=each.reason,
                    start=text(each.start),
                    end=text(each.end),
                )
                for each in forecast.missing
            ],
            levels=list(forecast.levels),
            quantiles=[] if forecast.quantiles is None else [*map(numbers, forecast.quantiles)],
        )


class LearnerBacklog(Outgoing):
    """A zone that has not learned from all readings sent."""

    zone: str
    entries: int = Field(description="Journal entries not processed yet")
    sent_until: Stamp = Field(description="Time of the newest reading sent")
    learned_until: Stamp | None = Field(description="Time of the newest reading processed")


class ForecastList(Outgoing):
    """One forecast per requested entity."""

    forecasts: list[ForecastAnswer]
    behind: list[LearnerBacklog] = Field(
        default_factory=list,
        description="Zones whose learner is behind by more than an hour of readings",
    )

    @classmethod
    def of(
        cls, forecasts: Sequence[EntityForecast], backlogs: Sequence[Backlog] = ()
    ) -> ForecastList:
        """The forecasts in order; entities of a zone share one array of times."""
        arrays = {id(each.times): each.times for each in forecasts}
        stamps = {key: texts(times) for key, times in arrays.items()}
        return cls(
            forecasts=[ForecastAnswer.of(each, stamps[id(each.times)]) for each in forecasts],
            behind=[
                LearnerBacklog(
                    zone=each.zone,
                    entries=each.entries,
                    sent_until=text(each.sent),
                    learned_until=optional_text(each.learned),
                )
                for each in backlogs
            ],
        )


class VintageQuery(TimeRange):
    """Forecasts for these times, optionally only those issued before a time."""

    entity: Id
    issued_before: Time | None = None
    limit: int = Field(default=20, ge=1, le=200)


class VintageAnswer(Outgoing):
    """A forecast issued in the past."""

    issued_at: Stamp
    measured_until: Stamp | None = Field(
        default=None,
        description="Time of the newest measurement that the forecast uses; null: none, or not "
        "known, because an earlier release recorded it",
    )
    weather_issued_at: Stamp | None
    encoder: str | None
    predictor: str | None
    times: list[Stamp]
    leads: list[int] = Field(
        default_factory=list, description="Seconds from the issue to each time"
    )
    values: list[float | None]
    sources: list[str]

    @classmethod
    def of(cls, vintage: Vintage) -> VintageAnswer:
        """A vintage in columns."""
        times = vintage.start + vintage.step * np.arange(len(vintage.values))
        return cls(
            issued_at=text(vintage.issued_at),
            measured_until=optional_text(vintage.measured_until),
            weather_issued_at=optional_text(vintage.weather_issued_at),
            encoder=vintage.encoder,
            predictor=vintage.predictor,
            times=texts(times),
            leads=vintage.leads.round().astype(np.int64).tolist(),
            values=numbers(vintage.values),
            sources=labels(vintage.sources),
        )


class VintageList(Outgoing):
    """Forecasts issued in the past, newest first."""

    entity: str
    unit: str
    vintages: list[VintageAnswer]


def labels(sources: npt.NDArray[np.uint8]) -> list[str]:
    """Names of sources (n)."""
    words = [source.label for source in Source]
    return [words[source] for source in sources.tolist()]
