"""What is said of a day: everything quantiles are made from."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clearwatt.intervals.cells import BANDS, Cells, Places, Spread
from clearwatt.intervals.levels import KNOTS, Floats

_KNOTS = np.asarray(KNOTS)


class Card(NamedTuple):
    """Quantiles of every cell, in parts that change at different speeds.

    ``location`` and ``scale`` (m x cells) are usual; ``bias`` and ``size`` (m) are how residuals
    are these days, and ``wide`` (m) is how much wider quantiles are because a model is new.
    ``table`` (m x BANDS x knots) are the quantiles of what is left, ascending.
    """

    location: Floats
    scale: Floats
    bias: Floats
    size: Floats
    wide: Floats
    table: Floats

    def below(self, z: Floats, bands: Places) -> Floats:
        """How many normalised residuals (n x m, NaN: none) are below each knot: m x knots.

        One that sits on its quantile is no miss on either side.
        """
        rows = self._rows(self.table, bands)
        lower = len(KNOTS) // 2
        under = np.empty(rows.shape, np.bool_)
        np.less(z[..., None], rows[..., :lower], out=under[..., :lower])
        np.less_equal(z[..., None], rows[..., lower:], out=under[..., lower:])
        counts = under.view(np.uint8).sum(axis=0, dtype=np.uint16)
        return np.asarray(counts, np.float64)

    def quantiles(
        self, forecasts: Floats, steps: Places, *, cells: Cells, levels: Floats
    ) -> Floats:
        """Quantiles around forecasts (n x m): n x m x levels."""
        bands = cells.bands(forecasts)
        places = cells.places(bands, steps)
        # Ascending z stay ascending through all of this, so that nothing crosses.
        z = self._rows(_between(self.table, levels), bands)
        z = z * (self.size * (1.0 + self.wide))[:, None] + self.bias[:, None]
        z *= self.scale.reshape(-1).take(places)[..., None]
        z += self.location.reshape(-1).take(places)[..., None]
        z += forecasts[..., None]
        return z

    @property
    def spread(self) -> Spread:
        """The usual part."""
        return Spread(self.location, self.scale)

    @staticmethod
    def _rows(table: Floats, bands: Places) -> Floats:
        """The row of a table (m x BANDS x k) for each band (n x m): n x m x k."""
        first = np.arange(bands.shape[1], dtype=np.int64) * BANDS
        return table.reshape(-1, table.shape[2]).take(bands + first, axis=0)


def _between(table: Floats, levels: Floats) -> Floats:
    """Quantiles at any levels, in a straight line between the knots and constant beyond them."""
    left = np.clip(np.searchsorted(_KNOTS, levels, side="right") - 1, 0, len(_KNOTS) - 2)
    share = np.clip((levels - _KNOTS[left]) / np.diff(_KNOTS)[left], 0.0, 1.0)
    between: Floats = table[..., left] * (1.0 - share) + table[..., left + 1] * share
    return np.maximum.accumulate(between, axis=-1)  # rounding may undo an order of equals
