"""What is usual: where residuals are large, what they look like, and what the trackers found."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from clearwatt.arrays import Float64Array
from clearwatt.intervals.batch import Batch
from clearwatt.intervals.card import Card
from clearwatt.intervals.cells import FAR, Cells, Places, Sums
from clearwatt.intervals.levels import KNOTS
from clearwatt.intervals.pace import Pace
from clearwatt.intervals.shape import histogram, quantiles_of

_KNOTS = np.asarray(KNOTS)


class Usual(NamedTuple):
    """Fading sums per cell, histograms (m x BINS), and offsets of the trackers (m x knots)."""

    sums: Sums
    counts: Float64Array
    offsets: Float64Array

    @classmethod
    def of(cls, residuals: Float64Array, places: Places, *, cells: Cells, pace: Pace) -> Usual:
        """Begin with the residuals (n x m, NaN: none) of a warm-up."""
        rough = Sums.of(residuals, np.abs(residuals), places=places, cells=cells.count)
        distances = np.abs(residuals - rough.spread().location.reshape(-1).take(places))
        sums = Sums.of(residuals, distances, places=places, cells=cells.count)
        counts = histogram(sums.spread().normalised(residuals, places))
        share = pace.start_days * cells.slots / np.maximum(sums.samples.sum(axis=1), 1.0)
        share = np.minimum(share, 1.0)[:, None]
        offsets = np.zeros((residuals.shape[1], len(KNOTS)))
        return cls(Sums(*(each * share for each in sums)), counts * share, offsets)

    def learned(self, batch: Batch, card: Card, *, cells: Cells, pace: Pace) -> Usual:
        """After a batch that is full; the trackers are held to a card."""
        missing = np.add.reduce(np.isnan(batch.residuals).view(np.uint8), axis=0, dtype=np.uint8)
        samples = len(batch.residuals) - missing.astype(np.int64)
        below = card.below(batch.reach)
        offsets = self.offsets + pace.step / cells.slots * (samples[:, None] * _KNOTS - below)
        fade = fades(cells.slots, pace.usual, len(batch.residuals)).take(samples)[:, None]
        newer = _sums(batch, card, cells)
        counts = self.counts * fade
        counts += histogram(batch.z)
        return Usual(self.sums.faded(fade, newer), counts, offsets)

    def table(self) -> Float64Array:
        """Quantiles of normalised residuals at the knots: m x knots, ascending."""
        return np.sort(quantiles_of(self.counts) + self.offsets, axis=1)


def _sums(batch: Batch, card: Card, cells: Cells) -> Sums:
    """Of a batch; one wild reading counts only so far, or it would widen everything for months."""
    residuals = batch.residuals
    location = card.location.reshape(-1).take(batch.places)
    distances = np.abs(residuals - location)
    largest = card.scale.max(axis=1)
    far = np.where(largest > 0, FAR * largest, np.inf)
    if (np.fmax.reduce(distances) > far).any():
        residuals = np.clip(residuals, location - far, location + far)
        distances = np.minimum(distances, far)
    return Sums.of(residuals, distances, places=batch.places, cells=cells.count)


@cache
def fades(slots: int, half_life: float, most: int) -> Float64Array:
    """How much is left after 0 to ``most`` samples, with a half-life in days of so many slots."""
    return np.asarray(0.5 ** (np.arange(most + 1) / slots / half_life), np.float64)
