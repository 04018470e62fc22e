"""Persistence: the last measurement, or that at the same time of an earlier day or week."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from clearwatt.benchmark.history import Power, ZoneHistory
from clearwatt.benchmark.peer import CostMeter, Forecasts, Peer
from clearwatt.clock import DAYS_PER_WEEK

FURTHER = 14
"""Days, or weeks, searched for a measurement; without one the mean is used."""


@dataclass(frozen=True)
class Persistence(Peer):
    """The latest known measurement that is a whole number of periods old.

    Args:
        days: the period, 1 or 7.
    """

    days: int = 1

    @property
    def key(self) -> str:
        """Its name on the command line."""
        return f"persistence-{24 * self.days}h"

    @property
    def label(self) -> str:
        """Its name in tables."""
        return f"persistence {24 * self.days} h"

    def forecast(self, history: ZoneHistory) -> Forecasts:
        """Look up past measurements; the mean of the warm-up where none is known."""
        meter, period = CostMeter(history), self.days * history.day
        least = -(-history.delay // period)
        power = np.full((history.steps, len(history.entities)), np.nan)
        for periods in range(least, least + FURTHER):
            unknown = np.isnan(power)
            power[unknown] = history.lagged_power(periods * period)[history.first :][unknown]
        mean = np.nanmean(history.known_samples().y, axis=0, dtype=np.float64)
        for column in range(len(history.entities)):
            meter.count_bytes(column, 4 * least * period)
        return Forecasts(np.where(np.isnan(power), mean, power), meter.costs)

    def seconds(self, history: ZoneHistory) -> float:
        """Negligible."""
        return 1e-6 * history.steps * len(history.entities)


@dataclass(frozen=True)
class LastValue(Peer):
    """The last known measurement, if it is not older than a week."""

    @property
    def key(self) -> str:
        """Its name on the command line."""
        return "last-value"

    @property
    def label(self) -> str:
        """Its name in tables."""
        return "persistence of the last value"

    def forecast(self, history: ZoneHistory) -> Forecasts:
        """Look up the last known measurements; the mean of the warm-up where none is known."""
        meter = CostMeter(history)
        power = last_known_power(history)[history.first :]
        mean = np.nanmean(history.known_samples().y, axis=0, dtype=np.float64)
        return Forecasts(np.where(np.isnan(power), mean, power), meter.costs)

    def seconds(self, history: ZoneHistory) -> float:
        """Negligible."""
        return 1e-6 * history.steps * len(history.entities)


def last_known_power(history: ZoneHistory) -> Power:
    """The last measurement known at each sample, of a week at most, n x entities."""
    clock = np.arange(history.at[0] - history.delay, history.at[-1] + 1)
    measured = pd.DataFrame(history.measured.astype(np.float64), history.at).reindex(clock)
    filled = measured.ffill(limit=DAYS_PER_WEEK * history.day).to_numpy(np.float64)
    return np.asarray(filled[history.at - history.at[0]], np.float64)
