"""The weather a zone learns from: for each time the latest forecast issued by then."""

from __future__ import annotations

import numpy as np
import pandas as pd

from clearwatt.arrays import Float32Array
from clearwatt.service.records import WeatherIssue
from clearwatt.service.times import Times

NEIGHBOURHOOD = 86_400
"""Seconds of weather kept around the times needed, to interpolate across gaps."""


class LatestWeather:
    """Weather at the times it was forecast for, merged from any number of issues.

    For a time t the latest issue issued by t counts, so that nothing is learned from a later
    forecast; if there is none (history sent as one issue), the earliest counts. The result does not
    depend on the order in which issues arrive.
    """

    def __init__(self, variables: tuple[str, ...]) -> None:
        self.variables = variables
        self.times: Times = np.empty(0, np.int64)
        self.issued: Times = np.empty(0, np.int64)
        self.values: Float32Array = np.empty((0, len(variables)), np.float32)

    def add(self, issue: WeatherIssue) -> None:
        """Merge an issue."""
        times = np.concatenate([self.times, issue.times])
        issued = np.concatenate([self.issued, np.full(len(issue.times), issue.issued_at)])
        values = np.concatenate([self.values, issue.values])
        known = issued <= times
        # The last row of each time is used: the latest issue known by then, else the earliest.
        rank = np.where(known, issued, -issued)
        order = np.lexsort((np.arange(len(times)), rank, known, times))
        times, last = times[order], np.empty(len(times), np.bool_)
        last[:-1], last[-1:] = times[1:] != times[:-1], True
        chosen = order[last]
        self.times, self.issued, self.values = times[last], issued[chosen], values[chosen]

    def forget_before(self, time: int) -> None:
        """Delete weather that is not needed for times from this one on."""
        first = int(np.searchsorted(self.times, time - NEIGHBOURHOOD))
        self.times, self.issued = self.times[first:], self.issued[first:]
        self.values = self.values[first:]

    def frame(self, start: int | None = None, end: int | None = None) -> pd.DataFrame:
        """The weather on a uniform clock, NaN where there is none."""
        low = 0 if start is None else int(np.searchsorted(self.times, start - NEIGHBOURHOOD))
        high = None if end is None else int(np.searchsorted(self.times, end + NEIGHBOURHOOD))
        times, values = self.times[low:high], self.values[low:high]
        if len(times) < 2:
            return self._data_frame(times, values)
        step = int(np.diff(times).min())
        clock = np.arange(times[0], times[-1] + 1, step)
        on_clock = (times - times[0]) % step == 0
        spread = np.full((len(clock), values.shape[1]), np.nan, np.float32)
        spread[(times[on_clock] - times[0]) // step] = values[on_clock]
        return self._data_frame(clock, spread)

    def _data_frame(self, times: Times, values: Float32Array) -> pd.DataFrame:
        return pd.DataFrame(values, index=instants(times), columns=list(self.variables))


def instants(times: Times) -> pd.DatetimeIndex:
    """Seconds since 1970 as a DatetimeIndex."""
    return pd.DatetimeIndex(
        pd.to_datetime(np.asarray(times, np.int64), unit="s", utc=True), name="time"
    ).as_unit("ns")
