"""Intervals of entities without history, from a prior's errors on entities it had not seen."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from clearwatt.adaptive.prior import KindPrior
from clearwatt.arrays import Float64Array
from clearwatt.clock import Steps
from clearwatt.intervals import Calibrator


def expected_errors(
    kind: KindPrior, size: float, *, day: int
) -> tuple[Float64Array, Float64Array, Steps]:
    """Forecasts, measurements and steps, `n` each, as if of the past of an entity of this size."""
    steps = kind.held_out.steps(day)
    _, rows = np.unique(steps, return_index=True)
    held = kind.held_out
    forecasts: Float64Array = held.forecasts[rows] * size
    measured: Float64Array = held.measured[rows] * size
    return forecasts, measured, steps[rows]


def calibrator_of_prior(
    kinds: Sequence[KindPrior],
    sizes: Sequence[float],
    *,
    day: int,
    lag: int = 1,
    low: npt.ArrayLike | None = None,
    high: npt.ArrayLike | None = None,
) -> Calibrator:
    """Quantiles of entities without history; wide until their own errors are known.

    Args:
        kinds: Prior of the kind of each entity, `e`.
        sizes: Capacity of each in units of power, `e`.
        day: Steps per day.
        lag: See `Calibrator.start`.
        low: The lowest possible power; None: no limit.
        high: The highest.
    """
    found = [expected_errors(kind, size, day=day) for kind, size in zip(kinds, sizes, strict=True)]
    forecasts: Float64Array = np.stack([each[0] for each in found], axis=1)
    measured: Float64Array = np.stack([each[1] for each in found], axis=1)
    return Calibrator.start(forecasts, measured, found[0][2], day=day, lag=lag, low=low, high=high)
