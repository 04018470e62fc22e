"""How residuals are these days: larger or smaller than usual, and to which side."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clearwatt.intervals.cells import Places
from clearwatt.intervals.levels import Floats


class Recent(NamedTuple):
    """Fading sums, each m: samples, residuals in units of their cell, distances from the bias."""

    samples: Floats
    residuals: Floats
    distances: Floats

    @classmethod
    def usual(cls, entities: int, samples: float) -> Recent:
        """As if so many samples had been as usual: no bias, and of the cells' own size."""
        full = np.full(entities, samples)
        return cls(full, np.zeros(entities), full)

    @classmethod
    def of(cls, residuals: Floats, bias: Floats, weights: Floats | None = None) -> Recent:
        """Sum up residuals (n x m, NaN: none), weighted row by row (n) or not."""
        distances = np.abs(residuals - bias)
        rows = np.stack([np.ones(residuals.shape), residuals, distances])
        rows[:, np.isnan(residuals)] = 0.0
        if weights is not None:
            rows *= weights[:, None]
        return cls(*rows.sum(axis=1))

    def faded(self, factor: Floats, newer: Recent) -> Recent:
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
    def bias(self) -> Floats:
        """Their mean: m."""
        return self.residuals / np.maximum(self.samples, np.finfo(np.float64).tiny)

    @property
    def size(self) -> Floats:
        """Their mean distance from the bias: m; 1 is as usual."""
        return self.distances / np.maximum(self.samples, np.finfo(np.float64).tiny)
