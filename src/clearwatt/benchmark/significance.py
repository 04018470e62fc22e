"""Whether one peer is significantly better than another: the test of Diebold and Mariano."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

LEVEL = 0.05
MIN_DAYS = 20
"""Least number of days in common for a test."""


class Difference(NamedTuple):
    """The mean difference of two loss series (below zero: the first is better) and its p-value."""

    mean: float
    p: float

    @property
    def is_significant(self) -> bool:
        """Whether the difference is significant."""
        return self.p < LEVEL


def difference(first: Sequence[float | None], second: Sequence[float | None]) -> Difference | None:
    """Compare two series of daily losses, day by day.

    The test of Diebold and Mariano (1995), two-sided, with the variance of Newey and West, which
    allows for bad days in a row, and the small-sample correction of Harvey, Leybourne and Newbold
    (1997).

    Returns:
        None where fewer than `MIN_DAYS` days have both losses.
    """
    from scipy.stats import t

    gaps = _gaps(first, second)
    n = len(gaps)
    if n < MIN_DAYS:
        return None
    lags = bandwidth(n)
    mean, variance = float(gaps.mean()), long_run_variance(gaps, lags)
    if variance <= 0:
        return Difference(mean, 1.0 if mean == 0 else 0.0)
    horizon = lags + 1
    correction = math.sqrt((n + 1 - 2 * horizon + horizon * (horizon - 1) / n) / n)
    statistic = correction * mean / math.sqrt(variance / n)
    return Difference(mean, float(2 * t.sf(abs(statistic), n - 1)))


def bandwidth(n: int) -> int:
    """Days over which losses are taken to depend on each other, by the rule of Newey and West."""
    return int(4 * (n / 100) ** (2 / 9))


def long_run_variance(values: npt.NDArray[np.float64], lags: int) -> float:
    """The variance with autocovariances up to `lags`, weighted so that it cannot be negative."""
    centred = values - values.mean()
    total = float(centred @ centred)
    for lag in range(1, lags + 1):
        total += 2 * (1 - lag / (lags + 1)) * float(centred[lag:] @ centred[:-lag])
    return total / len(values)


def _gaps(first: Sequence[float | None], second: Sequence[float | None]) -> npt.NDArray[np.float64]:
    gaps = np.array(first, np.float64) - np.array(second, np.float64)  # None becomes NaN
    return gaps[~np.isnan(gaps)]
