"""The samples of the last days, which new models forecast before they serve."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from clearwatt.arrays import Float32Array, Float64Array
from clearwatt.clock import Steps

WINDOW_DAYS = 7
"""Days of samples that a new model forecasts, so that its residuals are known."""


@dataclass(frozen=True, eq=False)
class SampleWindow:
    """Inputs (n x d), measurements (n x entities; NaN: none) and steps (n) of samples in order."""

    x: Float32Array
    y: Float32Array
    steps: Steps

    @classmethod
    def empty(cls, inputs: int, entities: int) -> SampleWindow:
        """A window without samples."""
        x, y = (np.empty((0, width), np.float32) for width in (inputs, entities))
        return cls(x, y, np.empty(0, np.int64))

    def append(self, newer: SampleWindow, *, day: int) -> SampleWindow:
        """The last `WINDOW_DAYS`, each of ``day`` steps, of these and newer samples."""
        steps = np.concatenate([self.steps, newer.steps])
        if len(steps) == 0:
            return self
        first = int(np.searchsorted(steps, steps[-1] - WINDOW_DAYS * day, side="right"))
        x, y = np.concatenate([self.x, newer.x]), np.concatenate([self.y, newer.y])
        return SampleWindow(x[first:], y[first:], steps[first:])

    def rows(self, rows: slice) -> SampleWindow:
        """Some of the samples."""
        return SampleWindow(self.x[rows], self.y[rows], self.steps[rows])

    def measurements(self, columns: Steps | slice = slice(None)) -> Float64Array:
        """Measurements in double precision, n x columns."""
        return self.y[:, columns].astype(np.float64)

    def add_entity(self) -> SampleWindow:
        """The window with another entity without measurements."""
        blank = np.full((len(self.steps), 1), np.nan, np.float32)
        return replace(self, y=np.hstack([self.y, blank]))

    def remove_entity(self, column: int) -> SampleWindow:
        """The window without an entity."""
        return replace(self, y=np.delete(self.y, column, axis=1))

    def forget(self, columns: Steps, start: int, end: int) -> SampleWindow:
        """The window without measurements of some entities at start <= step < end."""
        rows = np.flatnonzero((self.steps >= start) & (self.steps < end))
        y = self.y.copy()
        y[np.ix_(rows, columns)] = np.nan
        return replace(self, y=y)
