"""Demand profiles over the day, the week and the year in local time; each has peak 1.

The BDEW standard load profiles come from demandlib; shifts, schools and street lights, for which
there is no standard profile, are built here.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from datetime import date, timedelta

import numpy as np
import pandas as pd
from demandlib import bdew
from numpy.typing import NDArray

from clearwatt.arrays import BoolArray, Float64Array
from clearwatt.data.simulate.site import (
    Site,
    SiteClock,
    calendar_years,
    easter_sunday,
    public_holidays,
)
from clearwatt.data.simulate.sun import Sun

QUARTERS_PER_DAY = 96
Mix = Mapping[str, float]


def demand_profiles(clock: SiteClock, sun: Sun) -> Mapping[str, Float64Array]:
    """Every profile by name (n each), between 0 and 1."""
    hour, weekday = clock.hour, clock.weekday
    working = weekday < 5
    return {
        **standard_profiles(clock),
        "one_shift": _window(hour, 5.75, 15.0) * working,
        "two_shifts": _window(hour, 5.75, 22.25) * working,
        "three_shifts": np.where(_production_week(hour, weekday), 1.0, 0.0),
        "school": _window(hour, 7.0, 16.0) * working * ~school_holidays(clock),
        "street_lights": np.clip((sun.zenith - 91.0) / 3.0, 0.0, 1.0),
        "dimmed_lights": np.clip((sun.zenith - 91.0) / 3.0, 0.0, 1.0)
        * np.where((hour >= 23.0) | (hour < 5.0), 0.4, 0.8),
        "flat": np.ones(hour.size),
    }


def mix_profiles(mix: Mix, profiles: Mapping[str, Float64Array]) -> Float64Array:
    """The sum of the profiles (n), each weighted by its share in ``mix``."""
    return np.asarray(sum(s * profiles[name] for name, s in mix.items()), dtype=np.float64)


def standard_profiles(clock: SiteClock) -> dict[str, Float64Array]:
    """The BDEW standard load profiles (n each), by their names in lower case."""
    local = clock.local
    frames = [_standard_year(clock, year) for year in calendar_years(local)]
    whole = pd.concat(frames)
    position = np.asarray((local - whole.index[0]) // pd.Timedelta(minutes=15), dtype=np.int64)
    picked = whole.iloc[position]
    return {str(name): picked[name].to_numpy(dtype=np.float64) for name in picked.columns}


def _standard_year(clock: SiteClock, year: int) -> pd.DataFrame:
    holidays = public_holidays(clock.site, years=[year])
    # demandlib changes the warning filters of the process; restore them afterwards.
    with warnings.catch_warnings():
        frame = bdew.ElecSlp(year, holidays=holidays).get_profiles()
    frame = pd.DataFrame(frame).drop(columns="h0")
    index = pd.DatetimeIndex(frame.index)
    slot = np.asarray(index.hour * 4 + index.minute // 15)
    sunday = index.normalize().isin(pd.DatetimeIndex(holidays))
    day = np.where(sunday, 6, np.asarray(index.weekday))
    typical = frame.groupby(day * QUARTERS_PER_DAY + slot).transform("mean")
    scaled: pd.DataFrame = (typical + clock.seasons * (frame - typical)) / frame.max()
    return scaled


def school_holidays(clock: SiteClock) -> BoolArray:
    """Whether each time (n) is in school holidays, close to those of the site's state."""
    local = clock.local
    days = local.normalize()
    off = np.zeros(len(days), dtype=np.bool_)
    for first, last in (
        p for year in calendar_years(local) for p in _school_breaks(clock.site, year)
    ):
        off |= np.asarray((days >= pd.Timestamp(first)) & (days <= pd.Timestamp(last)))
    return off


def closures(clock: SiteClock) -> Float64Array:
    """The share of business that is closed for holidays (n): 1 at Christmas, less in August."""
    local = clock.local
    month, day = np.asarray(local.month), np.asarray(local.day)
    christmas = ((month == 12) & (day >= 23)) | ((month == 1) & (day <= 5))
    august = (month == 8) & (day <= 21)
    return np.where(christmas, 1.0, np.where(august, 0.6, 0.0))


def _school_breaks(site: Site, year: int) -> list[tuple[date, date]]:
    sunday = easter_sunday(site, year)
    return [
        (date(year, 1, 1), date(year, 1, 8)),
        (sunday - timedelta(days=9), sunday + timedelta(days=7)),
        (date(year, 7, 22), date(year, 9, 1)),
        (date(year, 10, 15), date(year, 10, 28)),
        (date(year, 12, 22), date(year, 12, 31)),
    ]


def _window(hour: Float64Array, start: float, end: float) -> Float64Array:
    # Machines start within an hour and stop a little faster.
    return np.clip(np.minimum((hour - start) / 1.0, (end - hour) / 0.75), 0.0, 1.0)


def _production_week(hour: Float64Array, weekday: NDArray[np.int64]) -> BoolArray:
    # From the early shift on Monday to the end of the night shift on Saturday.
    since_monday = weekday * 24.0 + hour
    return (since_monday >= 6.0) & (since_monday < 5 * 24.0 + 6.0)
