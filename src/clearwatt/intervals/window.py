"""The samples of the last days, on which a new model is tried."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from clearwatt.arrays import Float32Array
from clearwatt.intervals.cells import Places

WINDOW_DAYS = 7
"""How many days of samples a new model is tried on."""


@dataclass(frozen=True, eq=False)
class Window:
    """Inputs (w x d), measurements (w x entities; NaN: none) and steps (w) of the last samples."""

    x: Float32Array
    y: Float32Array
    steps: Places

    @classmethod
    def empty(cls, inputs: int, entities: int) -> Window:
        """One without samples."""
        x, y = (np.empty((0, width), np.float32) for width in (inputs, entities))
        return cls(x, y, np.empty(0, np.int64))

    def with_newer(self, newer: Window, day: int) -> Window:
        """These and newer ones, without those `WINDOW_DAYS` of so many steps before the last."""
        steps = np.concatenate([self.steps, newer.steps])
        if len(steps) == 0:
            return self
        first = int(np.searchsorted(steps, steps[-1] - WINDOW_DAYS * day, side="right"))
        x, y = np.concatenate([self.x, newer.x]), np.concatenate([self.y, newer.y])
        return Window(x[first:], y[first:], steps[first:])

    def part(self, start: int, stop: int) -> Window:
        """Some of them."""
        return Window(self.x[start:stop], self.y[start:stop], self.steps[start:stop])

    def joined(self) -> Window:
        """With another entity, of which nothing has been measured."""
        blank = np.full((len(self.steps), 1), np.nan, np.float32)
        return replace(self, y=np.hstack([self.y, blank]))

    def without(self, columns: Places, start: int, end: int) -> Window:
        """Without what some entities measured at start <= step < end."""
        rows = np.flatnonzero((self.steps >= start) & (self.steps < end))
        y = self.y.copy()
        y[np.ix_(rows, columns)] = np.nan
        return replace(self, y=y)
