"""The error of each day, and the time for which a drift keeps it high."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from clearwatt.arrays import Float64Array
from clearwatt.data import Drift
from clearwatt.experiment.records import Recovery

DAYS_BEFORE = 14
"""Days before a drift whose error is the normal level."""
BACK_FACTOR = 1.5
"""An error of at most this factor times the normal level counts as recovered."""


def daily_rmse(errors: Float64Array, day: int) -> Float64Array:
    """Root mean square per day of errors (n, NaN where unknown); the last day may be short."""
    days = -(-len(errors) // day)
    padded = np.full(days * day, np.nan)
    padded[: len(errors)] = errors
    squares = np.square(padded.reshape(days, day))
    known = ~np.isnan(squares)
    sums, counts = np.where(known, squares, 0.0).sum(axis=1), known.sum(axis=1)
    means: Float64Array = np.divide(sums, counts, out=np.full(days, np.nan), where=counts > 0)
    return np.asarray(np.sqrt(means), np.float64)


def recoveries(
    errors: Float64Array, drifts: Sequence[Drift], times: pd.DatetimeIndex, *, day: int
) -> tuple[Recovery, ...]:
    """Steps until the error has recovered, for each drift that starts within these times.

    Recovered means that the root mean square of a day, counted from the start of the drift, is at
    most `BACK_FACTOR` times that of the two weeks before. 0: the error never rose; None: it never
    recovered. A drift with less than a day or no measurement before it, or none after it, is left
    out.
    """
    found = []
    for drift in drifts:
        start = int(times.searchsorted(drift.start))
        if drift.start < times[0] or not day <= start < len(times):
            continue
        level = daily_rmse(errors[max(0, start - DAYS_BEFORE * day) : start], DAYS_BEFORE * day)[0]
        after = daily_rmse(errors[start:], day)
        if np.isnan(level) or np.isnan(after).all():
            continue
        back = np.flatnonzero(after <= BACK_FACTOR * level)
        steps = int(back[0]) * day if len(back) else None
        found.append(Recovery(drift.what, drift.start.isoformat(), steps))
    return tuple(found)
