"""Local times as instants: offsets, both hours of the autumn change, the hour skipped in spring."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import timedelta, timezone, tzinfo

import numpy as np
import numpy.typing as npt
import pandas as pd

from clearwatt.arrays import BoolArray, Float64Array
from clearwatt.data.inputs import time_zone
from clearwatt.errors import ConfigurationError
from clearwatt.imports.recipe import Interval
from clearwatt.imports.time_text import WallTimes

_WEST, _EAST = -12 * 60, 14 * 60  # minutes of the offsets that clocks have
Codes = npt.NDArray[np.int64]
_FIXED = {
    "Z": 0, "UTC": 0, "GMT": 0, "WET": 0, "WEST": 60, "CET": 60, "MEZ": 60, "CEST": 120,
    "MESZ": 120, "EET": 120, "EEST": 180,
}  # fmt: skip
"""Abbreviations with one meaning, in minutes; others need the time zone."""


@dataclass(frozen=True, eq=False)
class Instants:
    """Starts of intervals in UTC (n), NaT where there is none, and the rows that are in doubt.

    ``skipped``: in the hour that the clock skips in spring. ``once``: in the hour of the autumn
    change, which is there only once. ``unclear``: there, but in an order that says nothing.
    ``misnamed``: with an abbreviation that is not the zone's at that time, as EST in July.
    """

    times: npt.NDArray[np.datetime64]
    skipped: BoolArray
    once: BoolArray
    unclear: BoolArray
    misnamed: BoolArray

    @property
    def doubtful(self) -> BoolArray:
        """The rows (n) that are in any doubt."""
        return self.skipped | self.once | self.unclear | self.misnamed


def zone_of(name: str) -> tzinfo:
    """The time zone of a name, or of a fixed offset such as +01:00."""
    if found := re.fullmatch(r"(?:UTC|GMT)?([+-])(\d{1,2})(?::?(\d{2}))?", name.strip()):
        minutes = (int(found[2]) * 60 + int(found[3] or 0)) * (1 if found[1] == "+" else -1)
        if int(found[3] or 0) > 59 or not _WEST <= minutes <= _EAST:
            raise ConfigurationError(
                f"unknown time zone {name!r}; give an offset from -12:00 to +14:00 with minutes "
                "below 60, such as +01:00, or a name such as Europe/Berlin"
            )
        return timezone(timedelta(minutes=minutes))
    return time_zone(name)


def calendar_zone(name: str | None) -> str:
    """The name of the zone for calendars: UTC if there is none or its offset is not in hours."""
    if name is None or "/" in name:
        return name or "UTC"
    hours = zone_of(name).utcoffset(None)
    if not hours or hours % timedelta(hours=1):
        return "UTC"
    return f"Etc/GMT{-(hours // timedelta(hours=1)):+d}"  # their sign is reversed


def needs_zone(times: WallTimes) -> BoolArray:
    """Which times (n) say nothing about their offset from UTC."""
    return np.isnan(_offset_minutes(times))


def to_utc(
    times: WallTimes,
    series: Codes,
    *,
    zone: tzinfo | None,
    interval: Interval,
    step: pd.Timedelta,
    autumn: str | None,
) -> Instants:
    """The start of each interval in UTC.

    The end of an interval on a local clock is written in two ways: as the clock shows it, or as
    the start plus the step. They differ at a change of the clock only; the one that leaves fewer
    rows in doubt is used.

    Args:
        times: as written, in the order of the file.
        series: number of the series that each belongs to (n); each is in the order of time.
        zone: of times without an offset.
        interval: the end that a time marks.
        step: length of an interval.
        autumn: "first" or "second" for an autumn hour that is there only once.
    """
    shift = step.to_numpy()
    shown = _localise(times, series, zone, autumn)
    if interval == "start":
        return shown
    shown = replace(shown, times=shown.times - shift)
    if zone is None:
        return shown
    counted = _localise(replace(times, wall=times.wall - shift), series, zone, autumn)
    return min(shown, counted, key=lambda each: _doubts(each, series))


def _doubts(found: Instants, series: Codes) -> int:
    rows = pd.DataFrame({"time": found.times, "series": series})
    repeated = rows[rows["time"].notna()].duplicated().sum()
    return int(repeated + found.doubtful.sum())


def _localise(times: WallTimes, series: Codes, zone: tzinfo | None, autumn: str | None) -> Instants:
    offsets = np.nan_to_num(_offset_minutes(times)).astype("timedelta64[m]")
    local = needs_zone(times) & ~np.isnat(times.wall)
    utc = times.wall - offsets.astype("timedelta64[ns]")
    none = np.zeros(len(utc), dtype=bool)
    if zone is None or not local.any():
        return Instants(np.where(local, np.datetime64("NaT"), utc), none, none, none, none)
    rows = np.flatnonzero(local)
    part = _localise_clock(times.take(rows), series[rows], zone, autumn)
    flags = [none.copy() for _ in range(4)]
    doubts = (part.skipped, part.once, part.unclear, part.misnamed)
    for flag, found in zip(flags, doubts, strict=True):
        flag[rows] = found
    utc[rows] = part.times
    return Instants(utc, *flags)


def _localise_clock(times: WallTimes, series: Codes, zone: tzinfo, autumn: str | None) -> Instants:
    """Instants of times on the clock of a zone."""
    codes, unique = pd.factorize(times.wall)
    passes = [_utc_of(unique, zone, summer=summer)[codes] for summer in (True, False)]
    summer = np.ones(len(codes), dtype=bool)
    once, unclear = (np.zeros(len(codes), dtype=bool) for _ in range(2))
    backward = _runs_backward(times.wall, series)
    rows = np.flatnonzero((passes[0] != passes[1]) & ~np.isnat(passes[0]))
    days = times.wall[rows].astype("datetime64[D]").astype(np.int64)
    for members in pd.Series(rows).groupby([series[rows], days]).indices.values():
        group = rows[np.asarray(members)]
        ordered = group[::-1] if backward else group
        second = _second_pass(times.take(ordered), zone)
        if second is not None:
            summer[ordered] = ~second
        elif len(np.unique(times.wall[group])) == len(group):
            summer[group] = autumn != "second"
            once[group] = autumn is None
        else:
            unclear[group] = True
    utc = np.where(summer, *passes)
    return Instants(utc, np.isnat(utc), once, unclear, _is_misnamed(utc, times.zone, zone))


def _is_misnamed(
    utc: npt.NDArray[np.datetime64], zones: npt.NDArray[np.str_], zone: tzinfo
) -> BoolArray:
    """Which abbreviations (n) are not the zone's name at that time.

    A fixed offset has no name: any abbreviation may stand for it, but only one.
    """
    named = np.asarray((zones != "") & ~np.isnat(utc), dtype=np.bool_)
    if not named.any():
        return named
    if isinstance(zone, timezone):
        return np.asarray(named & (zones != zones[int(np.argmax(named))]), dtype=np.bool_)
    codes, unique = pd.factorize(utc[named])
    local = pd.DatetimeIndex(unique).tz_localize("UTC").tz_convert(zone)
    names = np.array([time.tzname() for time in local], dtype=np.str_)
    misnamed = np.zeros(len(utc), dtype=bool)
    misnamed[named] = names[codes] != zones[named]
    return misnamed


def _utc_of(
    wall: npt.NDArray[np.datetime64], zone: tzinfo, *, summer: bool
) -> npt.NDArray[np.datetime64]:
    """Instants of wall times (n); in the autumn hour, of its first pass if ``summer``."""
    located = pd.DatetimeIndex(wall).tz_localize(
        zone, ambiguous=np.full(len(wall), summer), nonexistent="NaT"
    )
    return located.tz_convert("UTC").tz_localize(None).to_numpy(dtype="datetime64[ns]")


def _runs_backward(wall: npt.NDArray[np.datetime64], series: Codes) -> bool:
    """Whether the newest reading comes first."""
    order = np.argsort(series, kind="stable")
    steps = np.diff(wall[order])[np.diff(series[order]) == 0]
    return bool((steps < np.timedelta64(0)).sum() > (steps > np.timedelta64(0)).sum())


def _second_pass(times: WallTimes, zone: tzinfo) -> BoolArray | None:
    """Which readings (n) of one autumn hour belong to its second pass; None if nothing says it."""
    wall, marks, zones = times.wall, times.mark, times.zone
    if (zones != "").all():
        return _by_abbreviation(wall, zones, zone)
    if (marks != "").any():
        # With both letters, A is first. With one letter, the plain hour is first.
        return np.asarray(marks == ("B" if (marks == "B").any() else "A"), dtype=np.bool_)
    turns = np.flatnonzero(np.diff(wall) < np.timedelta64(0))
    if len(turns) == 1:
        return np.asarray(np.arange(len(wall)) > turns[0], dtype=np.bool_)
    _, counts = np.unique(wall, return_counts=True)
    if not len(turns) and (counts == 2).all():  # sorted by wall time: each time twice in a row
        return np.asarray(np.arange(len(wall)) % 2 == 1, dtype=np.bool_)
    return None


def _by_abbreviation(
    wall: npt.NDArray[np.datetime64], zones: npt.NDArray[np.str_], zone: tzinfo
) -> BoolArray | None:
    """The second pass by the names of winter and summer time, such as EST and EDT."""
    second = []
    for time, text in zip(pd.DatetimeIndex(wall), zones, strict=True):
        names = [time.to_pydatetime().replace(tzinfo=zone, fold=fold).tzname() for fold in (0, 1)]
        if text not in names:
            return None
        second.append(names.index(text) == 1)
    return np.array(second, dtype=bool)


def _offset_minutes(times: WallTimes) -> Float64Array:
    """Minutes of the offset that each time states (n); NaN where it says nothing."""
    codes, unique = pd.factorize(times.zone)
    minutes = [np.nan if (each := _minutes(str(text))) is None else each for text in unique]
    return np.array(minutes, dtype=np.float64)[codes]


def _minutes(text: str) -> int | None:
    """Minutes of an offset or a well-known abbreviation; None if it says nothing."""
    if text in _FIXED:
        return _FIXED[text]
    if found := re.fullmatch(r"([+-])(\d{2})(?::?(\d{2}))?", text):
        return (1 if found[1] == "+" else -1) * (int(found[2]) * 60 + int(found[3] or 0))
    return None
