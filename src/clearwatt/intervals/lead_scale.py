"""Width of the intervals of a lead below a day, adapted to how many measurements lie outside.

Quantiles of a calibrator follow residuals over weeks. At short leads, months with a coverage well
below 90 % remain (docs/decisions.md). So these intervals are widened after days with many
measurements outside and narrowed after others: adaptive conformal inference, once a day.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Self

import numpy as np

from clearwatt.arrays import Float64Array, nan_array
from clearwatt.clock import Clock, Steps

RATE = 0.5
"""Change of the logarithm on a day on which every measurement is outside."""
LARGEST = 1.5
"""Limit of the logarithm in both directions."""


@dataclass(frozen=True, eq=False)
class LeadScale:
    """Factor on the width of the quantiles of each entity.

    Args:
        logarithm: Of the factors, `e`.
        outside: Share of measurements that should lie outside the outermost quantiles.
        day: Steps per day.
    """

    logarithm: Float64Array
    outside: float
    day: int

    @classmethod
    def start(cls, entities: int, levels: Sequence[float], *, day: int) -> Self:
        """Factors of 1, for quantiles at some levels, ascending."""
        return cls(np.zeros(entities), levels[0] + 1.0 - levels[-1], day)

    def learn(self, ends: Float64Array, measured: Float64Array) -> Self:
        """The factors after measurements, `n x e`, that had intervals with these ends."""
        known = np.isfinite(measured) & np.isfinite(ends).all(axis=2)
        beyond = (measured < ends[..., 0]) | (measured > ends[..., -1])
        excess = np.where(known, beyond - self.outside, 0.0).sum(axis=0)
        changed = self.logarithm + RATE / self.day * excess
        return replace(self, logarithm=np.clip(changed, -LARGEST, LARGEST))

    def add_entity(self) -> Self:
        """With another entity, whose factor is 1."""
        return replace(self, logarithm=np.append(self.logarithm, 0.0))

    def remove_entity(self, column: int) -> Self:
        """Without an entity."""
        return replace(self, logarithm=np.delete(self.logarithm, column))

    def apply(self, quantiles: Float64Array, power: Float64Array) -> Float64Array:
        """Quantiles, `n x e x levels`, nearer to the forecasts, `n x e`, or farther from them."""
        centre = power[..., None]
        return np.asarray(centre + np.exp(self.logarithm)[:, None] * (quantiles - centre))


def scale_stream(
    quantiles: Float64Array,
    power: Float64Array,
    measured: Float64Array,
    at: Steps,
    *,
    levels: Sequence[float],
    clock: Clock,
    limits: Float64Array,
) -> Float64Array:
    """Quantiles of a stream, `n x e x levels`, scaled day by day with what is known then.

    Args:
        quantiles: Without limits, `n x e x levels`.
        power: Forecasts, `n x e`.
        measured: `n x e`; NaN where there is none.
        at: Step of each row, `n`, ascending.
        levels: Of the quantiles, ascending.
        clock: Length of a day; the measurement of a step is known a delay later.
        limits: Lowest and highest power, `2 x e`.
    """
    scale = LeadScale.start(power.shape[1], levels, day=clock.day)
    scaled, learned = nan_array(*quantiles.shape), 0
    days = (np.flatnonzero(np.diff(at // clock.day)) + 1).tolist()
    for start, stop in pairwise([0, *days, len(at)]):
        known = min(clock.count_known(at, int(at[start])), start)
        scale = scale.learn(scaled[learned:known], measured[learned:known])
        learned, rows = known, slice(start, stop)
        found = scale.apply(quantiles[rows], power[rows])
        scaled[rows] = np.clip(found, *limits[..., None])
    return scaled
