"""Kernel regression of power on weather, time of day and weekday, for entities with few samples.

Networks with few samples generalise worse than this: the time of year and the means of past
weather mislead them, and every network is one of many that fit as well.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import numpy as np
from threadpoolctl import threadpool_limits

from clearwatt.arrays import Float32Array, Float64Array

LANDMARKS = 256
"""Past samples held at most, similarity to which forecasts are made from."""
REACH = 3.0
"""Distance of inputs over which power changes, in units of `View.distances`."""
RIDGE = 0.1
"""Noise of a measurement, in variances of what is learned."""
ROUNDING = 1e-6
"""Added to the diagonal of what is solved, as a share of its mean."""
WHOLE_UP_TO = 0.5
"""Up to this share of enough samples, it takes the place of networks entirely."""
FAR = 5.0
"""Values are limited to so many deviations, so that single wrong ones do not bend it."""
GOLDEN = (math.sqrt(5) - 1) / 2


@dataclass(frozen=True, eq=False)
class KernelRegression:
    """A smooth function of inputs: its values at any inputs follow from those at `m` landmarks.

    Args:
        landmarks: Inputs of past samples, each column times its weight in distances, `m x q`.
        coefficients: Of the similarities to them, `m`.
        level: Forecast far from all of them.
        share: How far it takes the place of networks, from 0 to 1.
    """

    landmarks: Float32Array
    coefficients: Float32Array
    level: float
    share: float

    @classmethod
    def fit(cls, x: Float32Array, y: Float32Array, *, share: float) -> Self:
        """The regression of values `n` on weighted inputs `n x q`.

        Args:
            x: Weighted inputs, in order of time.
            y: Values, in deviations.
            share: How far it takes the place of networks.
        """
        landmarks = x[spread_evenly(len(x), LANDMARKS)]
        # On one thread: with more, sums are rounded differently, and each machine learns its own.
        with threadpool_limits(1):
            return cls._solve(x, y, landmarks, share=share)

    @classmethod
    def _solve(
        cls, x: Float32Array, y: Float32Array, landmarks: Float32Array, *, share: float
    ) -> Self:
        similar = similarity(x, landmarks)
        y = np.clip(y, -FAR, FAR)
        level = float(y.mean(dtype=np.float64))
        system = similar.T @ similar
        system += RIDGE * similarity(landmarks, landmarks)
        system.flat[:: len(system) + 1] += ROUNDING * system.trace() / len(system)
        solved = np.linalg.solve(system, similar.T @ (y - level))
        return cls(landmarks, solved.astype(np.float32), level, share)

    @property
    def nbytes(self) -> int:
        """Bytes of its arrays."""
        return self.landmarks.nbytes + self.coefficients.nbytes

    def forecast(self, x: Float32Array) -> Float64Array:
        """Values, `n`, for weighted inputs `n x q`."""
        # No product with a vector, whose rounding depends on the number of threads.
        parts = similarity(x, self.landmarks) * self.coefficients
        found: Float64Array = parts.sum(axis=1) + self.level
        return found


def share_of_kernel(samples: int, enough: int) -> float:
    """How far a kernel regression takes the place of networks that have so many samples."""
    return min(1.0, max(0.0, (1 - samples / enough) / (1 - WHOLE_UP_TO)))


def similarity(x: Float32Array, landmarks: Float32Array) -> Float64Array:
    """Matern's kernel of order 3/2, 1 for equal inputs, `n x m`.

    In double precision: in single, a forecast would depend on which others are made with it.
    """
    wide, narrow = x.astype(np.float64), landmarks.astype(np.float64)
    # Not by a matrix product, whose rounding depends on the number of threads.
    found: Float64Array = np.einsum("nq,mq->nm", wide, narrow, optimize=False)
    found *= -2
    found += np.square(wide).sum(axis=1)[:, None]
    found += np.square(narrow).sum(axis=1)
    np.maximum(found, 0, out=found)
    found *= 3 / REACH**2
    np.sqrt(found, out=found)
    result: Float64Array = (1 + found) * np.exp(-found)
    return result


def spread_evenly(count: int, most: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Positions of at most so many of `count` samples, at all hours alike, ascending."""
    if count <= most:
        return np.arange(count)
    # Multiples of the golden ratio lie evenly, and in step with no period such as a day.
    return np.unique((count * np.mod(GOLDEN * np.arange(most), 1)).astype(np.int64))
