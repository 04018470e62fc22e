"""Fallback forecasts without a model: yesterday, last week, climatology."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from clearwatt.arrays import BoolArray, Float64Array
from clearwatt.data.plausibility import usual_power
from clearwatt.errors import ClearwattError
from clearwatt.service.quality import PlausiblePower, plausible_power
from clearwatt.service.records import Flag, RegisteredEntity, StoredSeries
from clearwatt.service.store import Store
from clearwatt.service.times import Times

DAY = 86_400
CLIMATOLOGY_DAYS = 28
_FAR_FUTURE = 2**40

_log = logging.getLogger(__name__)


class Source(IntEnum):
    """Source of the value of a step; vintages store the number."""

    MODEL = 0
    YESTERDAY = 1
    LAST_WEEK = 2
    CLIMATOLOGY = 3
    NONE = 4

    @property
    def label(self) -> str:
        """The name used in answers."""
        return self.name.lower().replace("_", " ")


@dataclass(frozen=True, slots=True, eq=False)
class Substitute:
    """Values (n), NaN where there is none; sources (n), see `Source`; and why some are missing."""

    values: Float64Array
    sources: npt.NDArray[np.uint8]
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class UsableReadings:
    """Which stored readings of an entity a fallback may use.

    Those that a person released, and accepted ones that are plausible and have been judged.

    Args:
        power: Range of plausible power.
        judged: Time of the last reading whose verdict is in; None: readings of this entity are not
            judged yet, because it has no model.
    """

    power: PlausiblePower
    judged: int | None = None

    def mask(self, series: StoredSeries) -> BoolArray:
        """Which readings (n) are usable."""
        plausible = (series.values >= self.power.low) & (series.values <= self.power.high)
        judged = True if self.judged is None else series.times <= self.judged
        accepted = (series.flags == Flag.ACCEPTED) & plausible & judged
        usable = (accepted | (series.flags == Flag.RELEASED)) & np.isfinite(series.values)
        return np.asarray(usable, np.bool_)


def substitute(
    store: Store,
    entity: RegisteredEntity,
    times: Times,
    *,
    timezone: str = "UTC",
    usable: Callable[[], UsableReadings | None] = lambda: None,
) -> Substitute:
    """Fallback forecasts for times (n, ascending) from stored readings; never raises.

    Same time yesterday, else same time last week, else the mean by hour of day (on the zone's
    clock) over the last 28 days with readings, else over all readings, else NaN and the reason.

    Args:
        store: Has the readings.
        entity: Whose forecasts.
        times: Steps to forecast.
        timezone: The zone's clock.
        usable: Returns which readings may be used; None: those within the entity's usual power.
    """
    values = np.full(len(times), np.nan)
    sources = np.full(len(times), Source.NONE, np.uint8)
    reason = f"{entity.id} has no accepted reading yet"
    try:
        given = usable()
        readings = _Readings(store, entity, given or UsableReadings(plausible_power(entity)))
        if given is None and entity.capacity is None:
            readings = readings.without_outliers(int(times[0]))
        _fill(readings, times, timezone=timezone, values=values, sources=sources)
        if np.isnan(values).any() and not np.isnan(values).all():
            reason = f"{entity.id} has no accepted reading at these hours of the day"
    except ClearwattError as error:
        reason = f"the readings of {entity.id} cannot be read: {error}"
    except Exception:
        # A request is answered whatever the store does; the error is logged.
        _log.exception("fallback failed", extra={"entity": entity.id})
        reason = f"the readings of {entity.id} cannot be read; the log says why"
    return Substitute(values, sources, reason if np.isnan(values).any() else None)


class _Readings(NamedTuple):
    """The usable readings of an entity."""

    store: Store
    entity: RegisteredEntity
    usable: UsableReadings

    def without_outliers(self, first: int) -> _Readings:
        """The readings within the usual power of the weeks before a time, if that is known."""
        size = usual_power(*self.between(*self.windows(first)[0]))
        if not size:
            return self
        return self._replace(usable=UsableReadings(plausible_power(self.entity, size)))

    def between(self, start: int, end: int) -> tuple[Times, Float64Array]:
        """Times and values (n) with start <= time < end."""
        series = self.store.readings(self.entity.number, start=start, end=end)
        mask = self.usable.mask(series)
        return series.times[mask], series.values[mask]

    def at(self, wanted: Times) -> Float64Array:
        """Values at these times (n, ascending); NaN where there is none."""
        times, values = self.between(int(wanted[0]), int(wanted[-1]) + 1)
        found = np.full(len(wanted), np.nan)
        if len(times):
            at = np.minimum(np.searchsorted(times, wanted), len(times) - 1)
            hit = times[at] == wanted
            found[hit] = values[at[hit]]
        return found

    def windows(self, first: int) -> tuple[tuple[int, int], ...]:
        """Windows for climatology: four weeks up to the newest reading before a time, then all."""
        everything = (0, _FAR_FUTURE)
        judged = self.usable.judged
        before = first if judged is None else min(first, judged + 1)
        newest = self.store.latest([self.entity.number], before=before).get(self.entity.number)
        if newest is None:
            return (everything,)
        return ((newest[0] - CLIMATOLOGY_DAYS * DAY, newest[0] + 1), everything)


def _fill(
    readings: _Readings,
    times: Times,
    *,
    timezone: str,
    values: Float64Array,
    sources: npt.NDArray[np.uint8],
) -> None:
    for source, days in ((Source.YESTERDAY, 1), (Source.LAST_WEEK, 7)):
        wanted = times[np.isnan(values)] - days * DAY
        if len(wanted):
            _fill_steps(values, sources, source, readings.at(wanted))
    for start, end in readings.windows(int(times[0])) if np.isnan(values).any() else ():
        hours = _hours(times[np.isnan(values)], timezone)
        known = readings.between(start, end)
        _fill_steps(values, sources, Source.CLIMATOLOGY, _hourly_means(*known, timezone)[hours])
        if not np.isnan(values).any():
            return


def _fill_steps(
    values: Float64Array, sources: npt.NDArray[np.uint8], source: Source, found: Float64Array
) -> None:
    """Fill open steps with the values found."""
    steps = np.flatnonzero(np.isnan(values))[~np.isnan(found)]
    values[steps] = found[~np.isnan(found)]
    sources[steps] = source


def _hourly_means(times: Times, values: Float64Array, timezone: str) -> Float64Array:
    """The mean by hour of day (24); NaN without a reading."""
    hours = _hours(times, timezone)
    counts = np.bincount(hours, minlength=24)
    sums = np.bincount(hours, weights=values, minlength=24)
    means = np.full(24, np.nan)
    means[counts > 0] = sums[counts > 0] / counts[counts > 0]
    return means


def _hours(times: Times, timezone: str) -> npt.NDArray[np.int64]:
    index = pd.DatetimeIndex(times.astype("datetime64[s]"), tz="UTC")
    return index.tz_convert(timezone).hour.to_numpy(dtype=np.int64)
