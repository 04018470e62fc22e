"""Seeded random streams, one per purpose, and the processes drawn from them.

The key of a stream names its purpose (``"cloud"``, ``("pv-1", "outage")``). So switching one
effect off does not change any other number of the grid.
"""

from __future__ import annotations

import zlib

import numpy as np
import pandas as pd

from clearwatt.arrays import Float64Array


def random_stream(seed: int, *key: str) -> np.random.Generator:
    """The random stream of one purpose.

    Args:
        seed: Seed of the whole grid.
        *key: Purpose of the stream; the same key gives the same stream in every process.
    """
    # crc32 rather than hash(): Python salts the hash of strings per process.
    spawn_key = tuple(zlib.crc32(part.encode()) for part in key)
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=spawn_key))


def smooth(values: Float64Array, timescale: float) -> Float64Array:
    """The exponential moving average of ``values`` (n), with a timescale in samples."""
    alpha = 1.0 - float(np.exp(-1.0 / timescale))
    return pd.Series(values).ewm(alpha=alpha, adjust=False).mean().to_numpy(dtype=np.float64)


def red_noise(rng: np.random.Generator, n: int, *, timescale: float) -> Float64Array:
    """A stationary first-order autoregressive process (n) of unit variance.

    Args:
        rng: Stream to draw from.
        n: Number of samples.
        timescale: Samples after which the autocorrelation has fallen to 1/e.
    """
    rho = float(np.exp(-1.0 / timescale))
    noise = rng.standard_normal(n)
    # The moving average weights a new value by 1 - rho; the first value has the full variance.
    noise[1:] *= np.sqrt(1.0 - rho**2) / (1.0 - rho)
    return smooth(noise, timescale)
