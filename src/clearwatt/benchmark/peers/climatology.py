"""Climatology: the mean of all known measurements of the same month and hour."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from clearwatt.benchmark.history import KnownSamples, Power, ZoneHistory
from clearwatt.benchmark.peer import CostMeter, Forecasts, Peer

MONTHS, HOURS = 12, 24


@dataclass(frozen=True)
class Climatology(Peer):
    """Means by month and hour of the day (UTC); by hour alone in months without measurements."""

    @property
    def key(self) -> str:
        """Its name on the command line."""
        return "climatology"

    @property
    def label(self) -> str:
        """Its name in tables."""
        return "climatology (month, hour)"

    def forecast(self, history: ZoneHistory) -> Forecasts:
        """Update the table every day, then forecast the day."""
        meter, table = CostMeter(history), _MonthlyMeans(len(history.entities))
        power = np.empty((history.steps, len(history.entities)))
        times = history.times[history.first :]
        for each in history.rounds(history.day):
            with meter.measure_learning():
                table.add(each.known.last(each.new))
            power[each.steps] = table.means(times[each.steps])
        for column in range(len(history.entities)):
            meter.count_bytes(column, table.bytes_per_entity)
        return Forecasts(power, meter.costs)

    def seconds(self, history: ZoneHistory) -> float:
        """A fraction of a millisecond a day."""
        return 5e-4 * history.steps / history.day


class _MonthlyMeans:
    """Sums and counts, months x hours x entities."""

    def __init__(self, entities: int) -> None:
        self._sums = np.zeros((MONTHS, HOURS, entities))
        self._counts = np.zeros((MONTHS, HOURS, entities))

    @property
    def bytes_per_entity(self) -> int:
        return 2 * 8 * MONTHS * HOURS

    def add(self, new: KnownSamples) -> None:
        """Add samples."""
        measured, cells = ~np.isnan(new.y), _cells(new.times)
        np.add.at(self._sums, cells, np.where(measured, new.y, 0.0))
        np.add.at(self._counts, cells, measured)

    def means(self, times: pd.DatetimeIndex) -> Power:
        """The mean of each time's month and hour, or of its hour, or of everything; n x m."""
        power = np.full((len(times), self._sums.shape[2]), np.nan)
        month, hour = _cells(times)
        for axes in ((), (0,), (0, 1)):
            sums = self._sums.sum(axis=axes, keepdims=True) if axes else self._sums
            counts = self._counts.sum(axis=axes, keepdims=True) if axes else self._counts
            table = np.full(sums.shape, np.nan)
            np.divide(sums, counts, out=table, where=counts > 0)
            found = np.broadcast_to(table, self._sums.shape)[month, hour]
            power = np.where(np.isnan(power), found, power)
        return power


def _cells(times: pd.DatetimeIndex) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    month = times.month.to_numpy(dtype=np.int64) - 1
    return month, times.hour.to_numpy(dtype=np.int64)
