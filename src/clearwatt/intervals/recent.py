"""How residuals are these days: larger or smaller than usual, and to which side."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clearwatt.arrays import Float64Array
from clearwatt.intervals.cells import Places

_TINY = np.finfo(np.float64).tiny


class Recent(NamedTuple):
    """Fading sums, each m: samples, residuals in units of their cell, distances from the bias."""

    samples: Float64Array
    residuals: Float64Array
    distances: Float64Array

    @classmethod
    def usual(cls, entities: int, samples: float) -> Recent:
        """As if so many samples had been as usual: no bias, and of the cells' own size."""
        full = np.full(entities, samples)
        return cls(full, np.zeros(entities), full)

    @classmethod
    def of(cls, residuals: Float64Array, bias: Float64Array, weights: Float64Array) -> Recent:
        """Sum up residuals (n x m, NaN: none), weighted row by row (n)."""
        distances = np.abs(residuals - bias)
        rows = np.stack([np.ones(residuals.shape), residuals, distances])
        rows[:, np.isnan(residuals)] = 0.0
        rows *= weights[:, None]
        return cls(*rows.sum(axis=1))

    def faded(self, factor: Float64Array, newer: Recent) -> Recent:
        """These times a factor (m), and newer ones."""
        return Recent(*(old * factor + new for old, new in zip(self, newer, strict=True)))

    def of_columns(self, columns: Places) -> Recent:
        """Those of some entities."""
        return Recent(*(each[columns] for each in self))

    def with_columns(self, columns: Places, other: Recent) -> Recent:
        """With some entities' replaced."""
        copies = Recent(*(each.copy() for each in self))
        for own, new in zip(copies, other, strict=True):
            own[columns] = new
        return copies

    @property
    def bias(self) -> Float64Array:
        """Their mean: m."""
        return self.residuals / np.maximum(self.samples, _TINY)

    @property
    def size(self) -> Float64Array:
        """Their mean distance from the bias: m; 1 is as usual."""
        return self.distances / np.maximum(self.samples, _TINY)


class Days(NamedTuple):
    """Residuals of some days in units of their cells, days x slots x m, NaN where there is none.

    All days are looked at together, because a day is little to do and a call takes time. What
    comes out is the same to the last bit for each by itself.
    """

    units: Float64Array
    unknown: np.ndarray[tuple[int, int, int], np.dtype[np.bool_]]
    counts: Places
    """Samples of each day: days x m."""

    @classmethod
    def of(cls, units: Float64Array) -> Days:
        """Count what is known."""
        unknown = np.isnan(units)
        missing = np.add.reduce(unknown.view(np.uint8), axis=1, dtype=np.uint8)
        return cls(units, unknown, units.shape[1] - missing.astype(np.int64))

    def residuals(self) -> Float64Array:
        """Sums over each day: days x m."""
        return self._summed(self.units.copy())

    def distances(self, bias: Float64Array) -> Float64Array:
        """Sums of distances from the bias of each day (days x m): days x m."""
        apart = self.units - bias[:, None]
        return self._summed(np.abs(apart, out=apart))

    def _summed(self, values: Float64Array) -> Float64Array:
        np.copyto(values, 0.0, where=self.unknown)
        return np.asarray(np.add.reduce(values, axis=1), np.float64)


def followed(
    before: Float64Array, fades: Float64Array, newer: Float64Array | Places
) -> Float64Array:
    """A fading sum (m) after each of some days, each of which adds something: days x m."""
    found = np.empty(fades.shape)
    for now, fade, new in zip(found, fades, newer, strict=True):
        np.multiply(before, fade, out=now)
        np.add(now, new, out=now)
        before = now
    return found
