"""What the weather service says the day before: the weather with an honest error.

The run of 06 UTC is used for the whole next day, so the lead time is 18 to 41 hours. Its error is
autocorrelated within the run and from run to run, and grows with the lead time. A forecast knows
nothing finer than the synoptic anomalies, and a new weather model errs differently.
"""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pandas as pd

from clearwatt.data.simulate.randomness import Floats, stream, wander
from clearwatt.data.simulate.weather import Anomalies

ISSUE_HOUR = 6
HOURS_PER_DAY = 24
# Standard deviation of the error of each anomaly at the mean lead time.
SKILL = {
    "pressure": 0.15,
    "temperature": 0.32,
    "wind": 0.36,
    "cloud": 0.5,
    "humidity": 0.4,
    "shower": 0.9,
}
# What a new weather model does at strength 1: it errs less, but is warmer, windier and clearer.
NEW_MODEL_ERROR = 0.75
NEW_MODEL_BIAS = {"temperature": 0.35, "wind": 0.3, "cloud": -0.35, "humidity": -0.3}


def forecast_anomalies(
    anomalies: Anomalies, hours: pd.DatetimeIndex, *, change: Floats, seed: int
) -> Anomalies:
    """Return the anomalies as forecast the day before.

    Args:
        anomalies: What happens, hourly (n each).
        hours: The hours (n), UTC.
        change: Acting strength of the weather model's replacement (n).
        seed: Seed of the grid.
    """
    growth = lead_growth(hours) * NEW_MODEL_ERROR**change
    errors = {
        f.name: SKILL[f.name] * growth * _error(f.name, hours, seed)
        + NEW_MODEL_BIAS.get(f.name, 0.0) * change
        for f in fields(Anomalies)
    }
    return anomalies.shifted(Anomalies(**errors))


def lead_growth(hours: pd.DatetimeIndex) -> Floats:
    """Return the size of the error (n) relative to the mean lead time."""
    lead = np.asarray(hours.hour, dtype=np.float64) + HOURS_PER_DAY - ISSUE_HOUR
    mean_lead = HOURS_PER_DAY - ISSUE_HOUR + (HOURS_PER_DAY - 1) / 2
    return (lead / mean_lead) ** 0.5


def _error(name: str, hours: pd.DatetimeIndex, seed: int) -> Floats:
    # Half of the variance persists from run to run, half is each run's own.
    lasting = wander(stream(seed, "forecast", name, "lasting"), len(hours), timescale=36.0)
    day = np.asarray((hours.normalize() - hours[0].normalize()).days, dtype=np.int64)
    rng = stream(seed, "forecast", name, "runs")
    runs = np.stack([wander(rng, HOURS_PER_DAY, timescale=9.0) for _ in range(int(day[-1]) + 1)])
    own: Floats = runs[day, np.asarray(hours.hour, dtype=np.int64)]
    return np.asarray(np.sqrt(0.5) * (lasting + own), dtype=np.float64)
