"""Long-term statistics of residuals: their size in every cell, their shape, and tracker offsets."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from clearwatt.arrays import Float64Array
from clearwatt.intervals.cells import FAR, CellSums, Indices, ResidualCells
from clearwatt.intervals.histogram import histogram, histogram_quantiles
from clearwatt.intervals.levels import LEARNED_LEVELS
from clearwatt.intervals.pending import PendingResiduals
from clearwatt.intervals.quantile_model import QuantileModel
from clearwatt.intervals.rates import CalibrationRates

_LEVELS = np.asarray(LEARNED_LEVELS)


class LongTermStatistics(NamedTuple):
    """Fading sums per cell, fading histograms (m x BINS), and tracker offsets (m x levels)."""

    sums: CellSums
    counts: Float64Array
    offsets: Float64Array

    @classmethod
    def start(
        cls,
        residuals: Float64Array,
        places: Indices,
        *,
        cells: ResidualCells,
        rates: CalibrationRates,
    ) -> LongTermStatistics:
        """Begin with the residuals (n x m, NaN: none) of a warm-up in their cells."""
        rough = CellSums.add_up(residuals, np.abs(residuals), places=places, cells=cells.count)
        distances = np.abs(residuals - rough.spread().location.reshape(-1).take(places))
        sums = CellSums.add_up(residuals, distances, places=places, cells=cells.count)
        counts = histogram(sums.spread().normalise(residuals, places))
        share = rates.start_days * cells.slots / np.maximum(sums.samples.sum(axis=1), 1.0)
        share = np.minimum(share, 1.0)[:, None]
        offsets = np.zeros((residuals.shape[1], len(LEARNED_LEVELS)))
        return cls(CellSums(*(each * share for each in sums)), counts * share, offsets)

    def update(
        self,
        pending: PendingResiduals,
        model: QuantileModel,
        *,
        cells: ResidualCells,
        rates: CalibrationRates,
    ) -> LongTermStatistics:
        """The statistics after all pending rows; trackers compare these with a quantile model."""
        residuals = pending.residuals
        missing = np.add.reduce(np.isnan(residuals).view(np.uint8), axis=0, dtype=np.uint8)
        samples = len(residuals) - missing.astype(np.int64)
        below = model.count_below(pending.reach)
        offsets = self.offsets + rates.step / cells.slots * (samples[:, None] * _LEVELS - below)
        fade = fade_factors(cells.slots, rates.usual, len(residuals)).take(samples)[:, None]
        newer = _pending_sums(pending, model, cells)
        counts = self.counts * fade
        counts += histogram(pending.z)
        return LongTermStatistics(self.sums.fade(fade, newer), counts, offsets)

    def table(self) -> Float64Array:
        """Quantiles of normalised residuals at `LEARNED_LEVELS`: m x levels, ascending."""
        return np.sort(histogram_quantiles(self.counts) + self.offsets, axis=1)


def _pending_sums(
    pending: PendingResiduals, model: QuantileModel, cells: ResidualCells
) -> CellSums:
    """Sums per cell, with outliers clipped, so that one does not widen intervals for months."""
    residuals = pending.residuals
    location = model.location.reshape(-1).take(pending.places)
    distances = np.abs(residuals - location)
    largest = model.scale.max(axis=1)
    far = np.where(largest > 0, FAR * largest, np.inf)
    if (np.fmax.reduce(distances) > far).any():
        residuals = np.clip(residuals, location - far, location + far)
        distances = np.minimum(distances, far)
    return CellSums.add_up(residuals, distances, places=pending.places, cells=cells.count)


@cache
def fade_factors(slots: int, half_life: float, most: int) -> Float64Array:
    """Weight of the past after 0 to ``most`` samples; the half-life is in days of ``slots``."""
    return np.asarray(0.5 ** (np.arange(most + 1) / slots / half_life), np.float64)
