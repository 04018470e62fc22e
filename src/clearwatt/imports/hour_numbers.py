"""Hours that are counted through the day: 1 to 25 in autumn and 1 to 23 in spring."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from clearwatt.arrays import BoolArray
from clearwatt.data.data_faults import DataFault
from clearwatt.imports.local_time import zone_of
from clearwatt.imports.log import ImportLog
from clearwatt.imports.tables import Table
from clearwatt.imports.time_text import WallTimes

_HOUR = pd.Timedelta(hours=1)


def read_counted_hours(
    times: WallTimes,
    days: WallTimes,
    hours: pd.Series,
    *,
    timezone: str,
    table: Table,
    log: ImportLog,
) -> WallTimes:
    """The times, with the hours of a day of the change counted from its midnight if they are.

    A day of 25 hours whose hours are numbered to 25 is counted, and so is one of 23 hours that are
    numbered from 1 to 23. On all other days a number is what the clock shows.

    Args:
        times: Of rows (n), read as the clock shows them.
        days: Of the same rows, without the hour.
        hours: Their numbers as written (n).
        timezone: Name of the zone, or a fixed offset.
        table: The table, for the report.
        log: Of the import.
    """
    numbers = pd.to_numeric(hours.astype(str), errors="coerce").to_numpy(dtype=np.float64)
    dates = pd.DatetimeIndex(days.wall)
    usable = dates.notna() & np.isfinite(numbers)
    counted = np.zeros(len(numbers), dtype=bool)
    instants = np.array(times.wall)
    for day in dates[usable].unique():
        rows = usable & (dates == day)
        midnights = pd.DatetimeIndex([day, day + pd.Timedelta(days=1)])
        zone = zone_of(timezone)
        first, last = midnights.tz_localize(zone, ambiguous=True, nonexistent="shift_forward")
        if _is_counted(numbers[rows], (last - first) / _HOUR):
            counted |= rows
            start = first.tz_convert("UTC").tz_localize(None)
            instants[rows] = (start + pd.to_timedelta(numbers[rows], unit="h")).to_numpy()
    return _report(replace(times, wall=instants), counted, table, log)


def _is_counted(numbers: np.ndarray[tuple[int], np.dtype[np.float64]], length: float) -> bool:
    highest = 25 if length == 25 else 23
    every = len(np.unique(numbers)) == highest and numbers.min() == 1
    return length in (23, 25) and bool(every and numbers.max() == highest)


def _report(times: WallTimes, counted: BoolArray, table: Table, log: ImportLog) -> WallTimes:
    if not counted.any():
        return times
    wrong = "the hours of a day of the change are counted from its midnight; read in this order"
    row, count = int(table.body.index[int(np.argmax(counted))]), int(counted.sum())
    log.report(DataFault(table.place, wrong, row=row, count=count, repaired=True))
    return replace(times, zone=np.where(counted, "Z", times.zone))
