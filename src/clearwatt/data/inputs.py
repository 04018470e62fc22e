"""The inputs before scaling: the weather forecast at the power step, and the calendar."""

from __future__ import annotations

from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np
import numpy.typing as npt
import pandas as pd

from clearwatt.arrays import Float32Array
from clearwatt.errors import ConfigurationError, DataError

MAX_GAP = pd.Timedelta(hours=6)
CALENDAR_COLUMNS = tuple(
    f"{name}_{wave}"
    for name in ("hour", "minute", "week", "weekday", "day_of_year")
    for wave in ("sin", "cos")
)
NEIGHBOUR = "neighbour."
"""Start of the name of a column with the weather of another zone."""


def neighbour_column(zone: str, variable: str) -> str:
    """Name of the column with a variable of a neighbouring zone."""
    return f"{NEIGHBOUR}{zone}.{variable}"


def is_neighbour(column: str) -> bool:
    """Whether a column is weather of a neighbouring zone."""
    return column.startswith(NEIGHBOUR)


def interpolate_weather(
    frame: pd.DataFrame, times: pd.DatetimeIndex, *, max_gap: pd.Timedelta = MAX_GAP
) -> Float32Array:
    """A weather forecast interpolated linearly to other times.

    A gap is bridged if it is no longer than ``max_gap`` (six missing values of an hourly forecast
    are six hours). In longer gaps and outside the forecast the result is NaN.

    Args:
        frame: one column per variable, index ``time`` in UTC, uniform step.
        times: the times to interpolate to, in UTC.
        max_gap: the longest gap that is bridged.

    Returns:
        ``n x variables``, in the order of the frame's columns.
    """
    if max_gap < pd.Timedelta(0):
        raise ConfigurationError(f"max_gap is {max_gap}; give zero or a positive duration")
    known, targets = _nanoseconds(frame.index), _nanoseconds(times)
    step = int(np.diff(known).min()) if len(known) > 1 else 0
    reach = step + max_gap.value
    values = frame.to_numpy(dtype=np.float32)
    out = np.empty((len(targets), values.shape[1]), dtype=np.float32)
    for column in range(values.shape[1]):
        out[:, column] = _interpolate(known, values[:, column], targets, reach=reach)
    return out


def _interpolate(
    known: npt.NDArray[np.int64],
    values: Float32Array,
    targets: npt.NDArray[np.int64],
    *,
    reach: int,
) -> Float32Array:
    """One series at other times; NaN where its nearest values are more than ``reach`` apart."""
    present = np.isfinite(values)
    known, values = known[present], values[present]
    if not len(known):
        return np.full(len(targets), np.nan, dtype=np.float32)
    after = np.clip(np.searchsorted(known, targets), 0, len(known) - 1)
    before = np.maximum(after - 1, 0)
    hit = known[after] == targets
    apart = known[after] - known[before] > reach
    outside = (targets < known[0]) | (targets > known[-1])
    # Offsets from the start keep nanoseconds exact in float64.
    line = np.interp(targets - known[0], known - known[0], values)
    return np.where(~hit & (apart | outside), np.nan, line).astype(np.float32)


def _nanoseconds(times: pd.Index[Any]) -> npt.NDArray[np.int64]:
    """Times as integer nanoseconds; Parquet may have stored them in micro- or milliseconds."""
    if not isinstance(times, pd.DatetimeIndex) or times.tz is None:
        raise DataError("times carry no time zone; use a DatetimeIndex in UTC")
    return times.as_unit("ns").asi8


def calendar(times: pd.DatetimeIndex, *, timezone: str = "UTC") -> Float32Array:
    """Hour, minute, week, weekday and day of year, each as sine and cosine.

    Every cycle is continuous over the New Year: week 53 equals week 1 (period 52 ISO weeks), and
    the day of the year has the period of the year, leap or not.

    Args:
        times: the times to encode, with time zone.
        timezone: the zone of the calendar; docs/features.md explains why UTC is the default.

    Returns:
        ``n x 10``, columns ``CALENDAR_COLUMNS``.
    """
    local = times.tz_convert(time_zone(timezone))
    days_in_year = np.where(local.is_leap_year, 366, 365)
    week = local.isocalendar()["week"].to_numpy(dtype=np.float64)
    turns = np.column_stack(
        [
            local.hour.to_numpy() / 24,
            local.minute.to_numpy() / 60,
            (week - 1) / 52,
            local.dayofweek.to_numpy() / 7,
            (local.dayofyear.to_numpy() - 1) / days_in_year,
        ]
    )
    angle = 2 * np.pi * turns
    waves = np.stack([np.sin(angle), np.cos(angle)], axis=-1)
    return waves.reshape(len(times), -1).astype(np.float32)


def time_zone(timezone: str) -> ZoneInfo:
    """The time zone of a name."""
    try:
        return ZoneInfo(timezone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        message = f"unknown time zone {timezone!r}; use a name such as 'UTC' or 'Europe/Berlin'"
        raise ConfigurationError(message) from None
