"""Persistence, the forecast that repeats the same hour of the last known day."""

from __future__ import annotations

import numpy as np

from clearwatt.arrays import Float32Array
from clearwatt.clock import DAYS_PER_WEEK, SECONDS_PER_DAY, Clock
from clearwatt.service.times import Times


def repeat_last_day(
    times: Times, known: Times, readings: Float32Array, *, delay: int
) -> Float32Array:
    """The latest reading at the time of day of each time (n) that was known when it was forecast.

    With a delay of up to a day it is the reading 24 h before. If that is missing, it is the one
    48 h before, and so on up to a week.

    Args:
        times: Times to forecast (n).
        known: Times of the readings (k), ascending.
        readings: Readings (k x entities); NaN: none.
        delay: Seconds before its time at which a forecast is issued.

    Returns:
        n x entities; NaN without a reading at this time of the day in the week before.
    """
    forecasts = np.full((len(times), readings.shape[1]), np.nan, np.float32)
    nearest = Clock(day=SECONDS_PER_DAY, delay=delay).same_hour
    for lag in range(nearest, DAYS_PER_WEEK * SECONDS_PER_DAY + 1, SECONDS_PER_DAY):
        earlier = values_at(times - lag, known, readings)
        forecasts = np.where(np.isnan(forecasts), earlier, forecasts)
    return forecasts


def values_at(times: Times, known: Times, values: Float32Array) -> Float32Array:
    """Values at some times (n x entities); NaN where there are none.

    Args:
        times: n.
        known: Times of the values (k), ascending.
        values: k x entities.
    """
    found = np.full((len(times), values.shape[1]), np.nan, np.float32)
    at = np.searchsorted(known, times)
    rows = np.flatnonzero(at < len(known))
    rows = rows[known[at[rows]] == times[rows]]
    found[rows] = values[at[rows]]
    return found
