"""Fallback forecasts without a model: yesterday, last week, climatology."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
import numpy.typing as npt
import pandas as pd

from clearwatt.arrays import Float64Array
from clearwatt.errors import ClearwattError
from clearwatt.service.records import Flag, RegisteredEntity
from clearwatt.service.store import Store
from clearwatt.service.times import Times

DAY = 86_400
CLIMATOLOGY_DAYS = 28
_FAR_FUTURE = 2**40
_USABLE = (Flag.ACCEPTED, Flag.RELEASED)

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


def substitute(
    store: Store, entity: RegisteredEntity, times: Times, *, timezone: str = "UTC"
) -> Substitute:
    """Fallback forecasts for times (n, ascending) from stored readings; never raises.

    Same time yesterday, else same time last week, else the mean by hour of day (on the zone's
    clock) over the last 28 days with readings, else over all readings, else NaN and the reason.
    """
    values = np.full(len(times), np.nan)
    sources = np.full(len(times), Source.NONE, np.uint8)
    reason = f"{entity.id} has no accepted reading yet"
    try:
        _fill(store, entity.number, times, timezone=timezone, values=values, sources=sources)
        if np.isnan(values).any() and not np.isnan(values).all():
            reason = f"{entity.id} has no accepted reading at these hours of the day"
    except ClearwattError as error:
        reason = f"the readings of {entity.id} cannot be read: {error}"
    except Exception:
        # A request is answered whatever the store does; the error is logged.
        _log.exception("fallback failed", extra={"entity": entity.id})
        reason = f"the readings of {entity.id} cannot be read; the log says why"
    return Substitute(values, sources, reason if np.isnan(values).any() else None)


def _fill(
    store: Store,
    number: int,
    times: Times,
    *,
    timezone: str,
    values: Float64Array,
    sources: npt.NDArray[np.uint8],
) -> None:
    for source, days in ((Source.YESTERDAY, 1), (Source.LAST_WEEK, 7)):
        wanted = times[np.isnan(values)] - days * DAY
        if len(wanted):
            _fill_steps(values, sources, source, _readings_at(store, number, wanted))
    for start, end in _windows(store, number, times) if np.isnan(values).any() else ():
        hours = _hours(times[np.isnan(values)], timezone)
        known = _usable(store, number, start=start, end=end)
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


def _readings_at(store: Store, number: int, wanted: Times) -> Float64Array:
    times, values = _usable(store, number, start=int(wanted[0]), end=int(wanted[-1]) + 1)
    found = np.full(len(wanted), np.nan)
    if len(times):
        at = np.minimum(np.searchsorted(times, wanted), len(times) - 1)
        hit = times[at] == wanted
        found[hit] = values[at[hit]]
    return found


def _windows(store: Store, number: int, times: Times) -> tuple[tuple[int, int], ...]:
    """Time windows: four weeks up to the newest reading before the first step, then all."""
    everything = (0, _FAR_FUTURE)
    newest = store.latest([number], before=int(times[0])).get(number)
    if newest is None:
        return (everything,)
    return ((newest[0] - CLIMATOLOGY_DAYS * DAY, newest[0] + 1), everything)


def _usable(store: Store, number: int, *, start: int, end: int) -> tuple[Times, Float64Array]:
    series = store.readings(number, start=start, end=end)
    usable = np.isin(series.flags, _USABLE) & np.isfinite(series.values)
    return series.times[usable], series.values[usable]


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
