"""Residuals of the last days that the long-term statistics do not contain yet."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clearwatt.arrays import Float64Array
from clearwatt.intervals.cells import Indices, ResidualCells

DAYS = 4
"""Days until the long-term statistics are updated: they change over weeks, and an update costs
time."""


class ResidualRows(NamedTuple):
    """Rows to learn from: their indices among those given (k) and their slots of the day (k).

    ``places`` (cells) and ``residuals`` are k x m.
    """

    chosen: Indices
    slots: Indices
    places: Indices
    residuals: Float64Array


class PendingResiduals(NamedTuple):
    """Rows of `DAYS` times a day's slots, each x m; residuals are NaN where there is none.

    ``places`` are the cells of residuals. ``z`` are residuals normalised by the quantiles of their
    day, ``reach`` the same with the widening. Both are set when the row's day is over or its model
    is replaced; before, they are left over from earlier days.
    """

    places: Indices
    residuals: Float64Array
    z: Float64Array
    reach: Float64Array

    @classmethod
    def empty(cls, cells: ResidualCells, entities: int) -> PendingResiduals:
        """Pending residuals without any row."""
        shape = (DAYS * cells.slots, entities)
        first = np.arange(entities, dtype=np.int64) * cells.count
        blanks = [np.full(shape, np.nan) for _ in range(3)]
        return cls(np.tile(first, (shape[0], 1)), *blanks)

    def copy(self) -> PendingResiduals:
        """A copy that can be written to."""
        floats = (each.copy() for each in self[1:])
        return PendingResiduals(self.places.copy(), *floats)

    def write(self, new: ResidualRows, rows: Indices) -> None:
        """Write residuals to these rows."""
        if len(rows) == 0:
            return
        at: slice | Indices = rows
        if rows[-1] - rows[0] + 1 == len(rows):  # much faster, and nearly always the case
            at = slice(int(rows[0]), int(rows[-1]) + 1)
        self.places[at], self.residuals[at] = new.places, new.residuals

    def clear(self) -> None:
        """Delete all residuals; rows without one are never used."""
        self.residuals.fill(np.nan)
