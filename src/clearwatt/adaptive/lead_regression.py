"""Ridge regressions with exponential forgetting."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self, TypeVar

import numpy as np
import numpy.typing as npt

from clearwatt.arrays import Float64Array

F = TypeVar("F", float, Float64Array)


@dataclass(frozen=True, eq=False)
class LeadRegression:
    """Sums over all samples so far; their size does not depend on how many there were.

    Several regressions may share an object: `...` stands for their number, or for nothing.

    Args:
        ridge: Prior belief that every coefficient is 0, in samples.
        half_life: Steps until a sample counts half; None: all count alike.
        moments: Sums `z^T z`, `... x p x p`.
        products: Sums `z^T y`, `... x p`.
    """

    ridge: float
    half_life: float | None
    moments: Float64Array
    products: Float64Array

    @classmethod
    def empty(cls, *shape: int, ridge: float, half_life: float | None) -> Self:
        """Regressions that have seen nothing, of the shape `... x p`."""
        return cls(ridge, half_life, np.zeros((*shape, shape[-1])), np.zeros(shape))

    def learn(
        self,
        features: npt.NDArray[np.floating[Any]],
        measured: npt.NDArray[np.floating[Any]],
        *,
        ages: Float64Array,
        passed: float,
    ) -> Self:
        """The regressions after new samples.

        Args:
            features: `... x n x p`.
            measured: `... x n`.
            ages: Steps since each sample, `n`.
            passed: Steps since the last call.
        """
        fade, weights = self.fade(passed), self.fade(ages)
        weighted = (features * weights[:, None].astype(features.dtype)).swapaxes(-1, -2)
        return replace(
            self,
            moments=fade * self.moments + weighted @ features,
            products=fade * self.products
            + (weighted @ measured.astype(features.dtype)[..., None])[..., 0],
        )

    def fade(self, steps: F) -> F:
        """What a sample counts after some steps."""
        return steps * 0 + 1 if self.half_life is None else 0.5 ** (steps / self.half_life)

    def add(self, count: int, *, axis: int) -> Self:
        """With further regressions that have seen nothing, along an axis of their number."""

        def widen(sums: Float64Array) -> Float64Array:
            shape = list(sums.shape)
            shape[axis] = count
            return np.concatenate([sums, np.zeros(shape)], axis=axis)

        return replace(self, moments=widen(self.moments), products=widen(self.products))

    def solve(self) -> Float64Array:
        """Coefficients, `... x p`."""
        system = self.moments + self.ridge * np.eye(self.products.shape[-1])
        return np.asarray(np.linalg.solve(system, self.products[..., None])[..., 0], np.float64)
