"""The day-ahead weather forecast: the weather with a realistic error.

The run of 06 UTC is used for the whole next day, so the lead time is 18 to 41 hours. Its error is
autocorrelated within a run and between runs, and grows with the lead time. A forecast contains only
the synoptic anomalies. A new weather model has a different error.
"""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pandas as pd

from clearwatt.arrays import Float64Array
from clearwatt.data.simulate.randomness import random_stream, red_noise
from clearwatt.data.simulate.weather import Anomalies

ISSUE_HOUR = 6
HOURS_PER_DAY = 24
# Standard deviation of the error of each anomaly at the mean lead time.
ERROR_DEVIATION = {
    "pressure": 0.15,
    "temperature": 0.32,
    "wind": 0.36,
    "cloud": 0.5,
    "humidity": 0.4,
    "shower": 0.9,
}
# A new weather model at strength 1: smaller error, but biased to warmer, windier and clearer.
NEW_MODEL_ERROR = 0.75
NEW_MODEL_BIAS = {"temperature": 0.35, "wind": 0.3, "cloud": -0.35, "humidity": -0.3}


def forecast_anomalies(
    anomalies: Anomalies, hours: pd.DatetimeIndex, *, change: Float64Array, seed: int
) -> Anomalies:
    """The anomalies as forecast the day before.

    Args:
        anomalies: The real ones, hourly (n each).
        hours: The hours (n), UTC.
        change: Strength of the replacement of the weather model (n).
        seed: Seed of the grid.
    """
    growth = lead_growth(hours) * NEW_MODEL_ERROR**change
    errors = {
        f.name: ERROR_DEVIATION[f.name] * growth * _error(f.name, hours, seed)
        + NEW_MODEL_BIAS.get(f.name, 0.0) * change
        for f in fields(Anomalies)
    }
    return anomalies.add(Anomalies(**errors))


def lead_growth(hours: pd.DatetimeIndex) -> Float64Array:
    """The size of the error (n) relative to that at the mean lead time."""
    lead = np.asarray(hours.hour, dtype=np.float64) + HOURS_PER_DAY - ISSUE_HOUR
    mean_lead = HOURS_PER_DAY - ISSUE_HOUR + (HOURS_PER_DAY - 1) / 2
    return (lead / mean_lead) ** 0.5


def _error(name: str, hours: pd.DatetimeIndex, seed: int) -> Float64Array:
    # Half of the variance is common to consecutive runs, half specific to each run.
    common = red_noise(random_stream(seed, "forecast", name, "lasting"), len(hours), timescale=36.0)
    day = np.asarray((hours.normalize() - hours[0].normalize()).days, dtype=np.int64)
    rng = random_stream(seed, "forecast", name, "runs")
    runs = np.stack([red_noise(rng, HOURS_PER_DAY, timescale=9.0) for _ in range(int(day[-1]) + 1)])
    specific: Float64Array = runs[day, np.asarray(hours.hour, dtype=np.int64)]
    return np.asarray(np.sqrt(0.5) * (common + specific), dtype=np.float64)
