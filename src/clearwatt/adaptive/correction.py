"""The fast part: what the slow forecast has missed lately, learned from two small matrices."""

from __future__ import annotations

import numpy as np

from clearwatt.adaptive.terms import TERM_SETS, TermSet
from clearwatt.arrays import Float64Array
from clearwatt.errors import require_whole


class Correction:
    """Ridge regression of residuals with exponential forgetting, one for each of `e` entities.

    Nothing of the past is kept but the sums `z^T z` and `z^T r` of `q` terms, each sample counting
    half as much for every `half_life` that has passed since.

    Args:
        entities: How many learn side by side.
        terms: What a residual is explained with: `q` of the `p` columns of `Terms.of`.
        half_life: Steps until a sample counts half.
        ridge: Samples' worth of belief that there is nothing to correct.
    """

    def __init__(self, entities: int, terms: TermSet, *, half_life: float, ridge: float) -> None:
        require_whole(entities=entities)
        self.half_life, self.ridge = half_life, ridge
        self.columns = list(TERM_SETS[terms])
        count = len(self.columns)
        self.moments: Float64Array = np.zeros((entities, count, count))
        self.products: Float64Array = np.zeros((entities, count))
        self.coefficients: Float64Array = np.zeros((entities, count))

    def learn(
        self, terms: Float64Array, residuals: Float64Array, *, ages: Float64Array, passed: float
    ) -> None:
        """Take in what has been measured since the last call, and solve.

        Args:
            terms: `n x e x p`.
            residuals: `n x e`, measured less forecast; NaN where there is none.
            ages: Steps since each of them, `n`.
            passed: Steps since the last call.
        """
        used = terms[:, :, self.columns]
        known = np.isfinite(residuals)
        weights = np.where(known, 0.5 ** (ages / self.half_life)[:, None], 0.0)
        weighted = used * weights[:, :, None]
        fade = 0.5 ** (passed / self.half_life)
        self.moments = fade * self.moments + np.einsum("nep,neq->epq", weighted, used)
        self.products = fade * self.products + np.einsum(
            "nep,ne->ep", weighted, np.where(known, residuals, 0.0)
        )
        believed = self.moments + self.ridge * np.eye(len(self.columns))
        solved = np.linalg.solve(believed, self.products[:, :, None])
        self.coefficients = solved[:, :, 0].astype(np.float64)

    def apply(self, terms: Float64Array) -> Float64Array:
        """Expected residuals, `n x e`, for terms `n x e x p`."""
        expected: Float64Array = np.einsum(
            "nep,ep->ne", terms[:, :, self.columns], self.coefficients
        )
        return expected
