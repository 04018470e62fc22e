"""Seeded randomness: one independent stream per purpose, and the processes drawn from it.

Every stream is keyed by what it is for (``"cloud"``, ``("pv-1", "outage")``), so switching one
thing off leaves every other number of the grid as it was, bit for bit.
"""

from __future__ import annotations

import zlib

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def stream(seed: int, *key: str) -> np.random.Generator:
    """Return the random stream of one purpose.

    Args:
        seed: Seed of the whole grid.
        *key: What the stream is for; the same key gives the same stream in every process.
    """
    # crc32 rather than hash(): Python salts the hash of strings per process.
    spawn_key = tuple(zlib.crc32(part.encode()) for part in key)
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=spawn_key))


def smooth(values: Floats, timescale: float) -> Floats:
    """Return the exponential moving average of ``values`` (n), with a timescale in samples."""
    alpha = 1.0 - float(np.exp(-1.0 / timescale))
    return pd.Series(values).ewm(alpha=alpha, adjust=False).mean().to_numpy(dtype=np.float64)


def wander(rng: np.random.Generator, n: int, *, timescale: float) -> Floats:
    """Return a stationary first-order autoregressive process (n) of unit variance.

    Args:
        rng: Stream to draw from.
        n: Number of samples.
        timescale: Samples after which the autocorrelation has fallen to 1/e.
    """
    rho = float(np.exp(-1.0 / timescale))
    noise = rng.standard_normal(n)
    # The moving average weighs a new value by 1 - rho; the first one starts in equilibrium.
    noise[1:] *= np.sqrt(1.0 - rho**2) / (1.0 - rho)
    return smooth(noise, timescale)
