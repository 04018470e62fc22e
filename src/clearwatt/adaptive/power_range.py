"""Range of an entity's power, which limits outliers among readings and forecasts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from clearwatt.arrays import Float64Array


@dataclass(frozen=True, eq=False)
class PowerRange:
    """Lowest and highest power of each of `e` entities.

    A reading further outside than the width of the range is moved to that distance. So an outlier
    that passed all checks has little effect, and a real jump is followed within a few readings. A
    single reading among several does not widen the range.

    Args:
        low: Lowest power, `e`.
        high: Highest power, `e`.
    """

    low: Float64Array
    high: Float64Array

    @classmethod
    def of(cls, measured: Float64Array) -> Self:
        """Range of a warm-up, `n x e`, NaN where there is no measurement."""
        return cls(np.nanmin(measured, axis=0), np.nanmax(measured, axis=0))

    def widen(self, measured: Float64Array) -> Self:
        """The range after a block of readings, `n x e`, NaN where there is none."""
        if not ((measured < self.low) | (measured > self.high)).any():
            return self
        return type(self)(
            np.minimum(self.low, -_second_highest(-measured)),
            np.maximum(self.high, _second_highest(measured)),
        )

    def select(self, places: Sequence[int]) -> Self:
        """The ranges of some entities."""
        own = list(places)
        return type(self)(self.low[own], self.high[own])

    def add_entities(self, other: Self) -> Self:
        """The ranges of these entities, then of others."""
        return type(self)(
            np.concatenate([self.low, other.low]), np.concatenate([self.high, other.high])
        )

    def limit_outliers(self, measured: Float64Array) -> Float64Array:
        """Readings, `n x e`, those far outside moved nearer."""
        lowest, highest = self._plausible
        limited: Float64Array = np.minimum(np.maximum(measured, lowest), highest)
        return limited

    def clip(self, forecasts: Float64Array) -> Float64Array:
        """Forecasts, `n x e`, within the range."""
        clipped: Float64Array = np.minimum(np.maximum(forecasts, self.low), self.high)
        return clipped

    @cached_property
    def _plausible(self) -> tuple[Float64Array, Float64Array]:
        """Lowest and highest reading that is no outlier, `e` each."""
        # The width of an entity that never changed is unknown, so no change is an outlier.
        width = np.where(self.high > self.low, self.high - self.low, np.inf)
        return self.low - width, self.high + width


def _second_highest(values: Float64Array) -> Float64Array:
    """Of each column, `e`; the highest if it is the only one, minus infinity if there is none."""
    if not len(values):
        return np.full(values.shape[1], -np.inf)
    ranked = np.sort(np.where(np.isnan(values), -np.inf, values), axis=0)[-2:]
    second: Float64Array = np.where(np.isneginf(ranked[0]), ranked[-1], ranked[0])
    return second
