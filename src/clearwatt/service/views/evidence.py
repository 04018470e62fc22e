"""Evidence on two versions of a model: their errors of two weeks, and what they say of a day."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

import numpy as np

from clearwatt.arrays import Float64Array
from clearwatt.clock import SECONDS_PER_DAY
from clearwatt.errors import ClearwattError
from clearwatt.service.forecasting.forecasts import ForecastService
from clearwatt.service.forecasting.library import Versions
from clearwatt.service.forecasting.version_forecasts import VersionForecast
from clearwatt.service.records import RegisteredEntity, Zone
from clearwatt.service.store import Store
from clearwatt.service.times import Times
from clearwatt.service.views.circumstances import (
    Circumstance,
    bias_words,
    worst_hours,
    worst_weather,
)
from clearwatt.service.views.signals import signals_of

WINDOW = 14 * SECONDS_PER_DAY
"""Seconds of the past on which versions are compared."""


class VersionPair(NamedTuple):
    """The versions to compare; ``after`` None: there is no other model."""

    before: Versions
    after: Versions | None


class ErrorSize(NamedTuple):
    """Mean absolute and root mean square error, in the unit of power."""

    mae: float
    rmse: float

    @classmethod
    def of(cls, errors: Float64Array) -> ErrorSize:
        """The size of errors (n), n > 0."""
        return cls(float(np.abs(errors).mean()), float(np.sqrt((errors**2).mean())))


@dataclass(frozen=True, slots=True, eq=False)
class PastErrors:
    """Errors of both versions on ``n`` readings, and where those of the first were largest."""

    n: int
    before: ErrorSize
    after: ErrorSize | None
    bias: str
    hours: Circumstance | None
    weather: Circumstance | None


@dataclass(frozen=True, slots=True, eq=False)
class DayForecasts:
    """What both versions say of a day: times (n), power (n each); NaN without weather.

    ``measured`` is NaN where nothing has been measured yet.
    """

    times: Times
    before: Float64Array
    after: Float64Array
    measured: Float64Array

    @property
    def differences(self) -> Float64Array:
        """Forecast of the second version less that of the first (m), where there are both."""
        found = self.after - self.before
        return found[np.isfinite(found)]

    @property
    def largest(self) -> tuple[int, float] | None:
        """Time and size of the largest difference."""
        found = np.abs(self.after - self.before)
        if not np.isfinite(found).any():
            return None
        at = int(np.nanargmax(found))
        return int(self.times[at]), float(self.after[at] - self.before[at])


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """What is known of two versions at a ``moment``, the first second that is not known.

    ``missing`` is why nothing can be said.
    """

    pair: VersionPair
    moment: int
    past: PastErrors | None = None
    day: DayForecasts | None = None
    missing: str | None = None


def find_evidence(
    store: Store,
    forecaster: ForecastService,
    pair: VersionPair,
    *,
    entity: RegisteredEntity,
    zone: Zone,
    moment: int,
) -> Evidence:
    """Compare two versions on two weeks before a moment and on the next local day."""
    comparison = _Comparison(store, forecaster, pair, entity, zone)
    try:
        past = comparison.past(moment - WINDOW, moment)
        day = comparison.day(*next_day(moment, zone.timezone))
    except ClearwattError as error:
        return Evidence(pair, moment, missing=str(error))
    return Evidence(pair, moment, past, day)


def next_day(moment: int, timezone: str) -> tuple[int, int]:
    """First second of the local day after the one that a moment ends or is in, and its end."""
    place = ZoneInfo(timezone)
    today = datetime.fromtimestamp(moment - 1, UTC).astimezone(place).date()
    ends = (
        datetime.combine(today + timedelta(days=days), datetime.min.time(), place)
        for days in (1, 2)
    )
    start, end = (int(each.timestamp()) for each in ends)
    return start, end


class _Comparison(NamedTuple):
    """Versions of an entity's models, and where their forecasts and readings come from."""

    store: Store
    forecaster: ForecastService
    pair: VersionPair
    entity: RegisteredEntity
    zone: Zone

    def past(self, start: int, end: int) -> PastErrors | None:
        """Errors on the readings of a time; None if there are none with weather."""
        before = self._forecast(self.pair.before, start, end)
        measured = self._measured(before.times)
        after = None
        if self.pair.after is not None:
            after = self._forecast(self.pair.after, start, end).values - measured
        errors = before.values - measured
        usable = np.isfinite(errors if after is None else errors + after)
        if not usable.any():
            return None
        own, times = errors[usable], before.times[usable]
        return PastErrors(
            n=len(own),
            before=ErrorSize.of(own),
            after=None if after is None else ErrorSize.of(after[usable]),
            bias=bias_words(own),
            hours=worst_hours(times, own, self.zone.timezone),
            weather=worst_weather(before.weather[usable], self.zone.variables, own),
        )

    def day(self, start: int, end: int) -> DayForecasts | None:
        """Both forecasts of a day; None without weather or without a second version."""
        if self.pair.after is None:
            return None
        before = self._forecast(self.pair.before, start, end)
        after = self._forecast(self.pair.after, start, end)
        measured = self._measured(before.times)
        found = DayForecasts(before.times, before.values, after.values, measured)
        return found if len(found.differences) else None

    def _forecast(self, versions: Versions, start: int, end: int) -> VersionForecast:
        return self.forecaster.forecast_by(versions, entity=self.entity.id, start=start, end=end)

    def _measured(self, times: Times) -> Float64Array:
        """Usable readings at times (n); NaN where there is none."""
        first, last = int(times[0]), int(times[-1])
        signals = signals_of(self.store, self.entity, start=first, end=last + 1)
        values = np.full(len(times), np.nan)
        _, at, places = np.intersect1d(times, signals.times, return_indices=True)
        values[at] = signals.measured[places]
        return values
