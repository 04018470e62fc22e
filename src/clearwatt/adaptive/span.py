"""Between which powers an entity has been: what is believed of a reading, and of a forecast."""

from __future__ import annotations

import numpy as np

from clearwatt.arrays import Float64Array


class Span:
    """The lowest and the highest power of each of `e` entities.

    A reading far outside counts as one its own width away from it, so that a wild one that passed
    all checks teaches little, and a jump is followed within a few readings. A single one among
    several does not widen it.

    Args:
        entities: How many.
    """

    def __init__(self, entities: int) -> None:
        self.low: Float64Array = np.full(entities, -np.inf)
        self.high: Float64Array = np.full(entities, np.inf)

    def begin(self, measured: Float64Array) -> None:
        """Start with a warm-up, `n x e`, NaN where there is no measurement."""
        self.low, self.high = np.nanmin(measured, axis=0), np.nanmax(measured, axis=0)

    def widen(self, measured: Float64Array) -> None:
        """Take in readings that came together, `n x e`, NaN where there is none."""
        self.low = np.minimum(self.low, -_second_highest(-measured))
        self.high = np.maximum(self.high, _second_highest(measured))

    def believed(self, measured: Float64Array) -> Float64Array:
        """Readings, `n x e`, those far outside brought nearer."""
        # What has never changed may do so by any amount: nobody knows what is much for it.
        width = np.where(self.high > self.low, self.high - self.low, np.inf)
        return np.clip(measured, self.low - width, self.high + width)

    def clip(self, forecasts: Float64Array) -> Float64Array:
        """Forecasts, `n x e`, within."""
        return np.clip(forecasts, self.low, self.high)


def _second_highest(values: Float64Array) -> Float64Array:
    """Of each column, `e`; the highest if there is but one, minus infinity if there is none."""
    if not len(values):
        return np.full(values.shape[1], -np.inf)
    ranked = np.sort(np.where(np.isnan(values), -np.inf, values), axis=0)[-2:]
    second: Float64Array = np.where(np.isneginf(ranked[0]), ranked[-1], ranked[0])
    return second
