"""Persistence, the forecast that repeats the same hour of the last known day."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from clearwatt.arrays import Float32Array
from clearwatt.clock import DAYS_PER_WEEK, SECONDS_PER_DAY

Times = npt.NDArray[np.int64]


def repeat_last_day(times: Times, known: Times, readings: Float32Array) -> Float32Array:
    """The reading 24 h before each time (n); if it is missing 48 h before, and so on up to a week.

    Args:
        times: Times to forecast (n).
        known: Times of the readings (k), ascending.
        readings: Readings (k x entities); NaN: none.

    Returns:
        n x entities; NaN without a reading at this time of the day in the week before.
    """
    forecasts = np.full((len(times), readings.shape[1]), np.nan, np.float32)
    for days in range(1, DAYS_PER_WEEK + 1):
        wanted = times - days * SECONDS_PER_DAY
        at = np.searchsorted(known, wanted)
        found = np.flatnonzero(at < len(known))
        found = found[known[at[found]] == wanted[found]]
        earlier = readings[at[found]]
        forecasts[found] = np.where(np.isnan(forecasts[found]), earlier, forecasts[found])
    return forecasts
