"""What residuals look like once location and scale are taken out: a fading histogram per band.

Its bins are even in z / (1 + |z|), so that any z has one and the middle is told apart finely.
Quantiles are read off it; a band that has seen little leans on all bands together.
"""

from __future__ import annotations

import numpy as np

from clearwatt.intervals.cells import BANDS, Places
from clearwatt.intervals.levels import KNOTS, Floats

BINS = 64
LEAN = 200.0
"""Samples that all bands together count for in each."""


def bins_of(z: Floats) -> Places:
    """The bin of each normalised residual."""
    squeezed = z / (1.0 + np.abs(z))
    return np.minimum((squeezed + 1.0) * (BINS / 2), BINS - 1).astype(np.int64)


def histogram(z: Floats, bands: Places) -> Floats:
    """Count normalised residuals (n x m, NaN: none) by band and bin: m x BANDS x BINS."""
    entities = z.shape[1]
    known = ~np.isnan(z)
    first = np.arange(entities, dtype=np.int64) * BANDS
    places = (first + bands) * BINS + bins_of(np.where(known, z, 0.0))
    counts = np.bincount(places[known], minlength=entities * BANDS * BINS)
    return counts.reshape(entities, BANDS, BINS).astype(np.float64)


def quantiles_of(counts: Floats) -> Floats:
    """Quantiles at `KNOTS` of histograms (m x BANDS x BINS): m x BANDS x knots."""
    whole = counts.sum(axis=1, keepdims=True)
    total = whole.sum(axis=2, keepdims=True)
    mixed = counts + LEAN * np.divide(whole, total, out=np.zeros_like(whole), where=total > 0)
    bins = np.ascontiguousarray(mixed.reshape(-1, BINS).T)  # the bins first: sums run far faster
    below = np.cumsum(bins, axis=0)
    wanted = below[-1] * np.asarray(KNOTS)[:, None]
    at = (below[:, None] < wanted).view(np.uint8).sum(axis=0, dtype=np.uint8).astype(np.int64)
    reached = np.take_along_axis(below, at, axis=0)
    inside = np.take_along_axis(bins, at, axis=0)
    # How far into its bin a quantile lies; without any sample in the middle of the first.
    part = 1.0 - np.divide(reached - wanted, inside, out=np.full(at.shape, 0.5), where=inside > 0)
    squeezed = (at + part) * (2 / BINS) - 1.0
    outermost = 1.0 - 1.0 / BINS  # the middle of the last bin: beyond it nothing is told apart
    squeezed = np.clip(squeezed, -outermost, outermost)
    quantiles = squeezed / (1.0 - np.abs(squeezed))
    return np.ascontiguousarray(quantiles.T).reshape(*counts.shape[:2], len(KNOTS))
