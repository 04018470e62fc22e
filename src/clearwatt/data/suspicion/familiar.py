"""Days unlike their expectation that are no lie: at rest, or like one of the trusted days."""

from __future__ import annotations

import numpy as np

from clearwatt.arrays import BoolArray, Float32Array, Float64Array
from clearwatt.data.suspicion.evidence import Evidence, quantile


def at_rest(evidence: Evidence) -> BoolArray:
    """Whether nearly all readings of the day are like those of nights and weekends."""
    entities = evidence.power.shape[1]
    ranked = np.sort(evidence.trusted.reshape(-1, entities), axis=0)
    last = np.maximum(np.isfinite(ranked).sum(axis=0) - 1, 0)
    low, high = (
        np.take_along_axis(ranked, np.rint(share * last).astype(np.int64)[None], axis=0)[0]
        for share in (0.1, 0.95)
    )
    busy = evidence.power > low + 0.2 * (high - low)
    return np.asarray(busy.sum(axis=0) < 0.2 * np.isfinite(evidence.power).sum(axis=0), np.bool_)


def is_familiar(evidence: Evidence, share: float = 0.6) -> BoolArray:
    """Whether the day is like one of the trusted days, as a holiday is like a Sunday.

    Its distance to that day is a share of the usual distance of days to the mean day.
    """
    typical = _mean(evidence.trusted, axis=0)
    usual = _mean(np.abs(evidence.trusted - typical), axis=1)
    away = _mean(np.abs(evidence.power - evidence.trusted), axis=1)
    return np.asarray(quantile(away, 0.0) <= share * quantile(usual, 0.5), np.bool_)


def _mean(values: Float32Array, *, axis: int) -> Float64Array:
    """Mean of finite values over an axis; NaN without any."""
    total = np.nansum(values, axis=axis, dtype=np.float64)
    return np.asarray(total / np.isfinite(values).sum(axis=axis), np.float64)
