"""Histograms of normalised residuals, and their quantiles.

Bins are even in z / (1 + |z|): every z has a bin, and bins are narrow around zero.
"""

from __future__ import annotations

import numpy as np

from clearwatt.arrays import Float64Array
from clearwatt.intervals.cells import Indices
from clearwatt.intervals.levels import LEARNED_LEVELS

BINS = 64
_LEVELS = np.asarray(LEARNED_LEVELS)


def bin_indices(z: Float64Array) -> Indices:
    """The bin of each normalised residual."""
    span = np.abs(z)
    span += 1.0
    squeezed = z / span
    squeezed += 1.0
    squeezed *= BINS / 2
    return np.minimum(squeezed, BINS - 1, out=squeezed).astype(np.int64)


def histogram(z: Float64Array) -> Float64Array:
    """Normalised residuals (n x m, NaN: none) per bin: m x BINS."""
    entities = z.shape[1]
    unknown = np.isnan(z)
    places = bin_indices(np.where(unknown, 0.0, z))
    places += np.arange(entities, dtype=np.int64) * BINS
    np.copyto(places, entities * BINS, where=unknown)  # an extra bin, dropped below
    counts = np.bincount(places.ravel(), minlength=entities * BINS + 1)[:-1]
    return counts.reshape(entities, BINS).astype(np.float64)


def histogram_quantiles(counts: Float64Array) -> Float64Array:
    """Quantiles at `LEARNED_LEVELS` of histograms (m x BINS): m x levels."""
    bins = np.ascontiguousarray(counts.T)  # the bins first: sums are much faster
    below = np.cumsum(bins, axis=0)
    wanted = below[-1] * _LEVELS[:, None]
    at = (below[:, None] < wanted).view(np.uint8).sum(axis=0, dtype=np.uint8).astype(np.int64)
    places = at * len(counts) + np.arange(len(counts))
    reached, inside = below.ravel().take(places), bins.ravel().take(places)
    # Position within the bin; the middle of the first bin if there is no sample.
    part = 1.0 - np.divide(reached - wanted, inside, out=np.full(at.shape, 0.5), where=inside > 0)
    squeezed = (at + part) * (2 / BINS) - 1.0
    outermost = 1.0 - 1.0 / BINS  # the middle of the last bin, which is not resolved further
    squeezed = np.clip(squeezed, -outermost, outermost)
    return np.ascontiguousarray((squeezed / (1.0 - np.abs(squeezed))).T)
