"""The quantiles of one day around any forecast."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clearwatt.arrays import Float64Array
from clearwatt.intervals.cells import CellSpread, Indices, ResidualCells
from clearwatt.intervals.levels import LEARNED_LEVELS

_LEVELS = np.asarray(LEARNED_LEVELS)


class QuantileModel(NamedTuple):
    """Parameters of the quantiles of `m` entities; they change at different speeds.

    ``location`` and ``scale`` (m x cells) are long-term; ``bias`` and ``size`` (m) describe recent
    residuals in units of these. ``wide`` (m) is the widening while a model is new. ``table``
    (m x levels) has the quantiles of normalised residuals at `LEARNED_LEVELS`, ascending.
    """

    location: Float64Array
    scale: Float64Array
    bias: Float64Array
    size: Float64Array
    wide: Float64Array
    table: Float64Array

    def count_below(self, z: Float64Array) -> Float64Array:
        """Normalised residuals (n x m, NaN: none) below each quantile of the table: m x levels.

        A residual equal to a quantile is a miss on neither side.
        """
        lower = len(LEARNED_LEVELS) // 2
        under = np.empty((len(LEARNED_LEVELS), *z.shape), np.bool_)  # levels first: much faster
        ends = self.table.T[:, None]
        np.less(z, ends[:lower], out=under[:lower])
        np.less_equal(z, ends[lower:], out=under[lower:])
        counts = np.add.reduce(under.view(np.uint8), axis=1, dtype=np.uint8)
        return np.ascontiguousarray(counts.T, np.float64)

    def quantiles(
        self,
        forecasts: Float64Array,
        steps: Indices,
        *,
        cells: ResidualCells,
        levels: Float64Array,
        limits: Float64Array,
    ) -> Float64Array:
        """Quantiles (n x m x levels) around forecasts (n x m), clipped to limits (2 x m)."""
        places = cells.places(cells.bands(forecasts), steps)
        # Every operation keeps ascending z ascending, so quantiles never cross.
        z = _interpolate(self.table, levels)
        z = z * (self.size * (1.0 + self.wide))[:, None] + self.bias[:, None]
        quantiles: Float64Array = self.scale.reshape(-1).take(places)[..., None] * z
        quantiles += self.location.reshape(-1).take(places)[..., None]
        quantiles += forecasts[..., None]
        return np.clip(quantiles, limits[0, :, None], limits[1, :, None], out=quantiles)

    @property
    def spread(self) -> CellSpread:
        """The long-term part."""
        return CellSpread(self.location, self.scale)


def _interpolate(table: Float64Array, levels: Float64Array) -> Float64Array:
    """Quantiles at any levels: linear between the learned levels, constant beyond them."""
    left = np.clip(np.searchsorted(_LEVELS, levels, side="right") - 1, 0, len(_LEVELS) - 2)
    share = np.clip((levels - _LEVELS[left]) / np.diff(_LEVELS)[left], 0.0, 1.0)
    between: Float64Array = table[..., left] * (1.0 - share) + table[..., left + 1] * share
    return np.maximum.accumulate(between, axis=-1)  # rounding can reverse equal quantiles
