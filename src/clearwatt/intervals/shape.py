"""What residuals look like once location and scale are taken out: a fading histogram.

Its bins are even in z / (1 + |z|), so that any z has one and the middle is told apart finely.
"""

from __future__ import annotations

import numpy as np

from clearwatt.arrays import Float64Array
from clearwatt.intervals.cells import Places
from clearwatt.intervals.levels import KNOTS

BINS = 64
_KNOTS = np.asarray(KNOTS)


def bins_of(z: Float64Array) -> Places:
    """The bin of each normalised residual."""
    span = np.abs(z)
    span += 1.0
    squeezed = z / span
    squeezed += 1.0
    squeezed *= BINS / 2
    return np.minimum(squeezed, BINS - 1, out=squeezed).astype(np.int64)


def histogram(z: Float64Array) -> Float64Array:
    """Count normalised residuals (n x m, NaN: none) by bin: m x BINS."""
    entities = z.shape[1]
    unknown = np.isnan(z)
    places = bins_of(np.where(unknown, 0.0, z))
    places += np.arange(entities, dtype=np.int64) * BINS
    np.copyto(places, entities * BINS, where=unknown)  # beyond all bins, and let go of
    counts = np.bincount(places.ravel(), minlength=entities * BINS + 1)[:-1]
    return counts.reshape(entities, BINS).astype(np.float64)


def quantiles_of(counts: Float64Array) -> Float64Array:
    """Quantiles at `KNOTS` of histograms (m x BINS): m x knots."""
    bins = np.ascontiguousarray(counts.T)  # the bins first: sums run far faster
    below = np.cumsum(bins, axis=0)
    wanted = below[-1] * _KNOTS[:, None]
    at = (below[:, None] < wanted).view(np.uint8).sum(axis=0, dtype=np.uint8).astype(np.int64)
    places = at * len(counts) + np.arange(len(counts))
    reached, inside = below.ravel().take(places), bins.ravel().take(places)
    # How far into its bin a quantile lies; without any sample in the middle of the first.
    part = 1.0 - np.divide(reached - wanted, inside, out=np.full(at.shape, 0.5), where=inside > 0)
    squeezed = (at + part) * (2 / BINS) - 1.0
    outermost = 1.0 - 1.0 / BINS  # the middle of the last bin: beyond it nothing is told apart
    squeezed = np.clip(squeezed, -outermost, outermost)
    return np.ascontiguousarray((squeezed / (1.0 - np.abs(squeezed))).T)
