"""Scores of the intervals of a trial, overall and in the days after updates and drifts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from clearwatt.arrays import BoolArray, Float64Array
from clearwatt.clock import Steps
from clearwatt.intervals import LEVELS, crps, interval, pinball

DAYS_AFTER = 3
"""Days after an update or a drift that are scored on their own."""


@dataclass(frozen=True)
class QuantileScores:
    """Scores of the quantiles of some steps; widths and losses in units of scaled power."""

    coverage_90: float
    coverage_50: float
    width_90: float
    pinball: float
    crps: float
    samples: int


@dataclass(frozen=True)
class IntervalScores:
    """Scores of the intervals of a trial; None where there are no measurements.

    ``least_after_update`` is the lowest coverage of the 90 % interval in the days after an update.
    """

    overall: QuantileScores | None
    after_updates: QuantileScores | None
    after_drifts: QuantileScores | None
    least_after_update: float | None


def score_intervals(
    targets: Float64Array,
    quantiles: Float64Array,
    *,
    at: Steps,
    day: int,
    updates: Sequence[int],
    drifts: Sequence[int],
) -> IntervalScores:
    """Scores of the quantiles (n x levels) of one entity.

    Args:
        targets: Measurements, n; NaN where there is none.
        quantiles: At `LEVELS`.
        at: Step of each row, n.
        day: Steps per day.
        updates: Steps from which a new model served.
        drifts: Steps at which a drift began.
    """

    def scores(rows: BoolArray) -> QuantileScores | None:
        return _score_quantiles(targets[rows], quantiles[rows])

    each = [scores(_rows_after([step], at, day)) for step in updates]
    coverages = [own.coverage_90 for own in each if own is not None]
    return IntervalScores(
        overall=scores(np.ones(len(at), np.bool_)),
        after_updates=scores(_rows_after(updates, at, day)),
        after_drifts=scores(_rows_after(drifts, at, day)),
        least_after_update=min(coverages, default=None),
    )


def _rows_after(steps: Sequence[int], at: Steps, day: int) -> BoolArray:
    """Which rows lie in the `DAYS_AFTER` from one of the steps on."""
    rows = np.zeros(len(at), np.bool_)
    for step in steps:
        rows |= (at >= step) & (at < step + DAYS_AFTER * day)
    return rows


def _score_quantiles(targets: Float64Array, quantiles: Float64Array) -> QuantileScores | None:
    samples = int((~np.isnan(targets)).sum())
    if samples == 0:
        return None
    wide, narrow = (interval(targets, quantiles, levels=LEVELS, share=s) for s in (0.9, 0.5))
    return QuantileScores(
        coverage_90=wide.coverage,
        coverage_50=narrow.coverage,
        width_90=wide.width,
        pinball=float(pinball(targets, quantiles, levels=LEVELS).mean()),
        crps=crps(targets, quantiles, levels=LEVELS),
        samples=samples,
    )
