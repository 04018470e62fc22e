"""Scores of quantile forecasts: coverage, width, pinball loss, CRPS.

Targets are n, quantiles n x q at ascending levels; samples without a target (NaN) do not count.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from clearwatt.arrays import Float64Array
from clearwatt.errors import ConfigurationError
from clearwatt.intervals.levels import checked_levels


class Interval(NamedTuple):
    """Share of measured samples inside a central interval, and its mean width."""

    coverage: float
    width: float


def interval(
    targets: Float64Array, quantiles: Float64Array, *, levels: Sequence[float], share: float
) -> Interval:
    """Coverage and width of the central interval with this nominal share; NaN without targets.

    The ends belong to it: a park that stands still is inside an interval from zero to zero.
    """
    known = ~np.isnan(targets)
    if not known.any():
        return Interval(float("nan"), float("nan"))
    low, high = (quantiles[known, at] for at in _ends(levels, share))
    inside = (targets[known] >= low) & (targets[known] <= high)
    return Interval(float(inside.mean()), float((high - low).mean()))


def pinball_losses(
    targets: Float64Array, quantiles: Float64Array, levels: npt.ArrayLike
) -> Float64Array:
    """Pinball loss of every quantile; the arguments are broadcast."""
    level = np.asarray(levels, np.float64)
    miss = targets - quantiles
    losses: Float64Array = np.maximum(miss * level, miss * (level - 1))
    return losses


def pinball(
    targets: Float64Array, quantiles: Float64Array, *, levels: Sequence[float]
) -> Float64Array:
    """Mean pinball loss of each level (q); NaN without targets."""
    known = ~np.isnan(targets)
    if not known.any():
        return np.full(len(levels), np.nan)
    losses = pinball_losses(targets[known, None], quantiles[known], levels)
    return np.asarray(losses.mean(axis=0), np.float64)


def crps(targets: Float64Array, quantiles: Float64Array, *, levels: Sequence[float]) -> float:
    """Continuous ranked probability score, estimated from the quantiles.

    Twice the integral of the pinball loss over the levels by the trapezoidal rule. Beyond the
    outermost levels the loss is linear and zero at 0 and 1.
    """
    ends = np.concatenate([[0.0], checked_levels(levels), [1.0]])
    losses = np.concatenate([[0.0], pinball(targets, quantiles, levels=levels), [0.0]])
    return float((np.diff(ends) * (losses[1:] + losses[:-1])).sum())


def _ends(levels: Sequence[float], share: float) -> tuple[int, int]:
    """Indices of the levels at the ends of the central interval."""
    wanted = np.asarray(levels, np.float64)
    places = [
        np.flatnonzero(np.isclose(wanted, each)) for each in ((1 - share) / 2, (1 + share) / 2)
    ]
    if not all(len(each) for each in places):
        raise ConfigurationError(
            f"the central {share:.0%} interval needs levels {(1 - share) / 2:g} and "
            f"{(1 + share) / 2:g}; there are {wanted.tolist()}"
        )
    return int(places[0][0]), int(places[1][0])
