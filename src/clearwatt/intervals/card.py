"""What is said of a day: everything quantiles are made from."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clearwatt.arrays import Float64Array
from clearwatt.intervals.cells import Cells, Places, Spread
from clearwatt.intervals.levels import KNOTS

_KNOTS = np.asarray(KNOTS)


class Card(NamedTuple):
    """Quantiles of every cell, in parts that change at different speeds.

    ``location`` and ``scale`` (m x cells) are usual; ``bias`` and ``size`` (m) are how residuals
    are these days, and ``wide`` (m) is how much wider quantiles are because a model is new.
    ``table`` (m x knots) are the quantiles of what is left, ascending.
    """

    location: Float64Array
    scale: Float64Array
    bias: Float64Array
    size: Float64Array
    wide: Float64Array
    table: Float64Array

    def below(self, z: Float64Array) -> Float64Array:
        """How many normalised residuals (n x m, NaN: none) are below each knot: m x knots.

        One that sits on its quantile is no miss on either side.
        """
        lower = len(KNOTS) // 2
        under = np.empty((len(KNOTS), *z.shape), np.bool_)  # the knots first: far faster
        ends = self.table.T[:, None]
        np.less(z, ends[:lower], out=under[:lower])
        np.less_equal(z, ends[lower:], out=under[lower:])
        counts = np.add.reduce(under.view(np.uint8), axis=1, dtype=np.uint8)
        return np.ascontiguousarray(counts.T, np.float64)

    def quantiles(
        self, forecasts: Float64Array, steps: Places, *, cells: Cells, levels: Float64Array
    ) -> Float64Array:
        """Quantiles around forecasts (n x m): n x m x levels."""
        places = cells.places(cells.bands(forecasts), steps)
        # Ascending z stay ascending through all of this, so that nothing crosses.
        z = _between(self.table, levels)
        z = z * (self.size * (1.0 + self.wide))[:, None] + self.bias[:, None]
        said: Float64Array = self.scale.reshape(-1).take(places)[..., None] * z
        said += self.location.reshape(-1).take(places)[..., None]
        said += forecasts[..., None]
        return said

    @property
    def spread(self) -> Spread:
        """The usual part."""
        return Spread(self.location, self.scale)


def _between(table: Float64Array, levels: Float64Array) -> Float64Array:
    """Quantiles at any levels, in a straight line between the knots and constant beyond them."""
    left = np.clip(np.searchsorted(_KNOTS, levels, side="right") - 1, 0, len(_KNOTS) - 2)
    share = np.clip((levels - _KNOTS[left]) / np.diff(_KNOTS)[left], 0.0, 1.0)
    between: Float64Array = table[..., left] * (1.0 - share) + table[..., left + 1] * share
    return np.maximum.accumulate(between, axis=-1)  # rounding may undo an order of equals
