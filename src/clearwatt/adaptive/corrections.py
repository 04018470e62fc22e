"""Corrections: ridge regressions of what the networks have missed lately."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import NamedTuple, Self

import numpy as np

from clearwatt.adaptive.settings import Correction
from clearwatt.adaptive.terms import TERM_SETS, TERMS
from clearwatt.arrays import BoolArray, Float64Array, Int64Array


@dataclass(frozen=True, eq=False)
class Corrections:
    """`c` ridge regressions of residuals with exponential forgetting, for each of `e` entities.

    Only the sums `z^T z` and `z^T r` of all `p` terms are held, for each of the `h` distinct
    half-lives. A correction solves the part that belongs to its set of terms.

    Args:
        kinds: The corrections.
        day: Steps per day.
        ridge: Weight of the prior that there is nothing to correct, in samples.
        moments: Sums `z^T z`, `h x e x p x p`.
        products: Sums `z^T r`, `h x e x p`.
    """

    kinds: tuple[Correction, ...]
    day: int
    ridge: float
    moments: Float64Array
    products: Float64Array

    @classmethod
    def empty(cls, kinds: Sequence[Correction], *, day: int, ridge: float, entities: int) -> Self:
        """Corrections that have seen nothing."""
        count = len({kind.half_life for kind in kinds})
        moments = np.zeros((count, entities, TERMS, TERMS))
        return cls(tuple(kinds), day, ridge, moments, np.zeros((count, entities, TERMS)))

    def learn(
        self,
        terms: Float64Array,
        residuals: Float64Array,
        *,
        ages: Float64Array,
        passed: float,
    ) -> Self:
        """The corrections after new samples.

        Args:
            terms: `n x e x p`.
            residuals: Measured less forecast, `n x e`; NaN where there is none.
            ages: Steps since each sample, `n`.
            passed: Steps since the last call.
        """
        known = np.isfinite(residuals)
        half_lives = _layout(self.kinds, self.day).half_lives
        weights = 0.5 ** (ages / half_lives[:, None])
        used = np.where(known[:, :, None], terms, 0.0).swapaxes(0, 1)
        weighted = used * weights[:, None, :, None]
        # The residual as one more column: one product gives both sums.
        whole = np.concatenate([used, np.where(known, residuals, 0.0).T[:, :, None]], axis=2)
        sums = weighted.swapaxes(2, 3) @ whole
        fade = 0.5 ** (passed / half_lives)
        return replace(
            self,
            moments=fade[:, None, None, None] * self.moments + sums[..., :-1],
            products=fade[:, None, None] * self.products + sums[..., -1],
        )

    def solve(self) -> Float64Array:
        """Coefficients, `c x e x p`; 0 for terms that a correction does not use."""
        _, rates, used = _layout(self.kinds, self.day)
        systems = np.where(used, self.moments[rates], 0.0)
        diagonals = systems.reshape(*systems.shape[:2], -1)[..., :: TERMS + 1]
        diagonals += self.ridge
        # Every set has the level, term 0, so its row of pairs shows which terms are used.
        wanted = np.where(used[:, :, 0], self.products[rates], 0.0)
        solved = np.linalg.solve(systems, wanted[..., None])[..., 0]
        return solved.astype(np.float64, copy=False)

    def add_entities(self, entities: int) -> Self:
        """With further entities that have no samples yet."""
        more = self.empty(self.kinds, day=self.day, ridge=self.ridge, entities=entities)
        return replace(
            self,
            moments=np.concatenate([self.moments, more.moments], axis=1),
            products=np.concatenate([self.products, more.products], axis=1),
        )


class _Layout(NamedTuple):
    """Which sums each correction needs."""

    half_lives: Float64Array
    """Distinct half-lives in steps, `h`."""
    rates: Int64Array
    """Which half-life each correction has, `c`."""
    used: BoolArray
    """Which pairs of terms each correction uses, `c x 1 x p x p`."""


@cache
def _layout(kinds: tuple[Correction, ...], day: int) -> _Layout:
    found = sorted({kind.half_life for kind in kinds})
    used = np.zeros((len(kinds), 1, TERMS), np.bool_)
    for place, kind in enumerate(kinds):
        used[place, 0, list(TERM_SETS[kind.terms])] = True
    rates = np.array([found.index(kind.half_life) for kind in kinds])
    return _Layout(day * np.array(found), rates, used[..., None] & used[:, :, None])
