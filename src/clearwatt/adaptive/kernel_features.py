"""Kernel features: with them a linear regression learns curves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from clearwatt.arrays import Float32Array


@dataclass(frozen=True, eq=False)
class KernelFeatures:
    """Similarity of inputs to `m` landmarks, as `p` uncorrelated features and a constant.

    A ridge regression of them approximates one with the kernel itself (Nystroem's method), but its
    state does not grow with the number of samples.

    Args:
        landmarks: Inputs of past samples, `m x d`.
        projection: Turns similarities into features, `m x p`.
    """

    landmarks: Float32Array
    projection: Float32Array

    @classmethod
    def fit(
        cls, x: Float32Array, *, landmarks: int, features: int, rng: np.random.Generator
    ) -> Self:
        """Features for inputs like these, `n x d`, of which some become landmarks."""
        count = min(landmarks, len(x))
        chosen = x[rng.choice(len(x), count, replace=False)]
        values, vectors = np.linalg.eigh(similarity(chosen, chosen).astype(np.float64))
        kept = np.argsort(-values, kind="stable")[: min(features, count)]
        kept = kept[values[kept] > values.max() * 1e-6]
        projection = vectors[:, kept] / np.sqrt(values[kept])
        return cls(chosen, projection.astype(np.float32))

    @property
    def width(self) -> int:
        """Number of features, `p + 1`."""
        return int(self.projection.shape[1]) + 1

    def apply(self, x: Float32Array) -> Float32Array:
        """Features, `n x (p + 1)`, of inputs `n x d`."""
        found = similarity(x, self.landmarks) @ self.projection
        return np.concatenate([np.ones((len(x), 1), np.float32), found], axis=1)


def similarity(x: Float32Array, landmarks: Float32Array) -> Float32Array:
    """The rational quadratic kernel, 1 for equal inputs, `n x m`.

    It is a mixture of narrow and wide Gaussian ones.
    """
    distances = x @ landmarks.T
    distances *= -2
    distances += np.square(x).sum(axis=1)[:, None]
    distances += np.square(landmarks).sum(axis=1)
    np.maximum(distances, 0, out=distances)
    distances /= 2
    distances += 1
    np.reciprocal(distances, out=distances)
    return distances
