"""Recent statistics of residuals: larger or smaller than long-term ones, and with which bias."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clearwatt.arrays import Float64Array
from clearwatt.intervals.cells import Indices

_TINY = np.finfo(np.float64).tiny


class RecentStatistics(NamedTuple):
    """Fading sums, each m: samples, residuals in units of their cell, distances from the bias."""

    samples: Float64Array
    residuals: Float64Array
    distances: Float64Array

    @classmethod
    def neutral(cls, entities: int, samples: float) -> RecentStatistics:
        """Statistics of so many samples without bias and of the size of their cells."""
        full = np.full(entities, samples)
        return cls(full, np.zeros(entities), full)

    @classmethod
    def add_up(
        cls, residuals: Float64Array, bias: Float64Array, weights: Float64Array
    ) -> RecentStatistics:
        """Sums of residuals (n x m, NaN: none), weighted by row (n)."""
        distances = np.abs(residuals - bias)
        rows = np.stack([np.ones(residuals.shape), residuals, distances])
        rows[:, np.isnan(residuals)] = 0.0
        rows *= weights[:, None]
        return cls(*rows.sum(axis=1))

    def fade(self, factor: Float64Array, newer: RecentStatistics) -> RecentStatistics:
        """These sums times a factor (m), plus newer ones."""
        return RecentStatistics(*(old * factor + new for old, new in zip(self, newer, strict=True)))

    def select(self, columns: Indices) -> RecentStatistics:
        """The statistics of some entities."""
        return RecentStatistics(*(each[columns] for each in self))

    def replace(self, columns: Indices, other: RecentStatistics) -> RecentStatistics:
        """These statistics with those of some entities replaced."""
        copies = RecentStatistics(*(each.copy() for each in self))
        for own, new in zip(copies, other, strict=True):
            own[columns] = new
        return copies

    @property
    def bias(self) -> Float64Array:
        """Mean residual: m."""
        return self.residuals / np.maximum(self.samples, _TINY)

    @property
    def size(self) -> Float64Array:
        """Mean distance from the bias: m; 1 is the long-term size."""
        return self.distances / np.maximum(self.samples, _TINY)


class DailyResiduals(NamedTuple):
    """Residuals of some days in units of their cells, days x slots x m; NaN where there is none.

    All days are computed together, because a call costs more than a day. The result is the same
    to the last bit for one day at a time.
    """

    units: Float64Array
    unknown: np.ndarray[tuple[int, int, int], np.dtype[np.bool_]]
    counts: Indices
    """Samples of each day: days x m."""

    @classmethod
    def from_units(cls, units: Float64Array) -> DailyResiduals:
        """Residuals with their counts."""
        unknown = np.isnan(units)
        missing = np.add.reduce(unknown.view(np.uint8), axis=1, dtype=np.uint8)
        return cls(units, unknown, units.shape[1] - missing.astype(np.int64))

    def residuals(self) -> Float64Array:
        """Sum of the residuals of each day: days x m."""
        return self._add_up(self.units.copy())

    def distances(self, bias: Float64Array) -> Float64Array:
        """Sum of the distances from the bias of each day (days x m): days x m."""
        apart = self.units - bias[:, None]
        return self._add_up(np.abs(apart, out=apart))

    def _add_up(self, values: Float64Array) -> Float64Array:
        np.copyto(values, 0.0, where=self.unknown)
        return np.asarray(np.add.reduce(values, axis=1), np.float64)


def fading_sums(
    before: Float64Array, fades: Float64Array, newer: Float64Array | Indices
) -> Float64Array:
    """A fading sum (m) after each of some days, with what each day adds: days x m."""
    sums = np.empty(fades.shape)
    for now, fade, new in zip(sums, fades, newer, strict=True):
        np.multiply(before, fade, out=now)
        np.add(now, new, out=now)
        before = now
    return sums
