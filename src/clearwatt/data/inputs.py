"""The inputs before scaling: a weather forecast at the power step, and the calendar."""

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


def interpolate_weather(
    frame: pd.DataFrame, times: pd.DatetimeIndex, *, max_gap: pd.Timedelta = MAX_GAP
) -> Float32Array:
    """Bring a weather forecast to other times, linearly and from the forecast alone.

    A stretch without values is bridged while it lasts no longer than ``max_gap`` (six missing hours
    of an hourly forecast last six hours); longer ones and times outside the forecast are NaN.

    Args:
        frame: one column per variable, index ``time`` in UTC, uniform step.
        times: the times wanted, in UTC.
        max_gap: the longest stretch without values that is bridged.

    Returns:
        ``n x variables``, in the order of the frame's columns.
    """
    if max_gap < pd.Timedelta(0):
        raise ConfigurationError(f"max_gap is {max_gap}; give zero or a positive duration")
    known, wanted = _nanoseconds(frame.index), _nanoseconds(times)
    step = int(np.diff(known).min()) if len(known) > 1 else 0
    reach = step + max_gap.value
    values = frame.to_numpy(dtype=np.float32)
    out = np.empty((len(wanted), values.shape[1]), dtype=np.float32)
    for column in range(values.shape[1]):
        out[:, column] = _interpolate(known, values[:, column], wanted, reach=reach)
    return out


def _interpolate(
    known: npt.NDArray[np.int64],
    values: Float32Array,
    wanted: npt.NDArray[np.int64],
    *,
    reach: int,
) -> Float32Array:
    """Interpolate one series; NaN where its two nearest values lie further apart than ``reach``."""
    present = np.isfinite(values)
    known, values = known[present], values[present]
    if not len(known):
        return np.full(len(wanted), np.nan, dtype=np.float32)
    after = np.clip(np.searchsorted(known, wanted), 0, len(known) - 1)
    before = np.maximum(after - 1, 0)
    hit = known[after] == wanted
    apart = known[after] - known[before] > reach
    outside = (wanted < known[0]) | (wanted > known[-1])
    # Offsets from the start keep nanosecond clocks exact in float64.
    line = np.interp(wanted - known[0], known - known[0], values)
    return np.where(~hit & (apart | outside), np.nan, line).astype(np.float32)


def _nanoseconds(times: pd.Index[Any]) -> npt.NDArray[np.int64]:
    """Give times as integer nanoseconds; Parquet may have stored them in micro- or milliseconds."""
    if not isinstance(times, pd.DatetimeIndex) or times.tz is None:
        raise DataError("times carry no time zone; use a DatetimeIndex in UTC")
    return times.as_unit("ns").asi8


def calendar(times: pd.DatetimeIndex, *, timezone: str = "UTC") -> Float32Array:
    """Encode hour, minute, week, weekday and day of year as points on a circle.

    Every circle closes: week 53 falls on week 1 (period 52 ISO weeks) and the day of year turns
    once per year, leap or not, so that the night of New Year is a small step and not a jump.

    Args:
        times: the times to encode, aware.
        timezone: the clock to read them on; see docs/features.md for why UTC is the default.

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
    """Look a time zone up by name."""
    try:
        return ZoneInfo(timezone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        message = f"unknown time zone {timezone!r}; use a name such as 'UTC' or 'Europe/Berlin'"
        raise ConfigurationError(message) from None
