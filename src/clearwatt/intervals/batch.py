"""The rows of the last days that what is usual has not been learned from yet."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clearwatt.arrays import Float64Array
from clearwatt.intervals.cells import Cells, Places

DAYS = 4
"""Days of a batch: what is usual changes over weeks, and looking at it takes time."""


class Batch(NamedTuple):
    """Rows (`DAYS` times a day's slots) x m; residuals are NaN where there is none.

    ``z`` are residuals in units of their days, ``reach`` in those and wider ones while a model is
    new: under what was said of the row. Both are known once the row's day is over or its model has
    been replaced; those of rows still to come are left over from earlier days.
    """

    places: Places
    residuals: Float64Array
    z: Float64Array
    reach: Float64Array

    @classmethod
    def empty(cls, cells: Cells, entities: int) -> Batch:
        """One without rows."""
        shape = (DAYS * cells.slots, entities)
        first = np.arange(entities, dtype=np.int64) * cells.count
        blanks = [np.full(shape, np.nan) for _ in range(3)]
        return cls(np.tile(first, (shape[0], 1)), *blanks)

    def copy(self) -> Batch:
        """One that may be written to."""
        floats = (each.copy() for each in self[1:])
        return Batch(self.places.copy(), *floats)

    def write(self, kept: Kept, rows: Places) -> None:
        """Put rows where they belong."""
        if len(rows) == 0:
            return
        at: slice | Places = rows
        if rows[-1] - rows[0] + 1 == len(rows):  # far faster, and nearly always so
            at = slice(int(rows[0]), int(rows[-1]) + 1)
        self.places[at], self.residuals[at] = kept.places, kept.residuals

    def clear(self) -> None:
        """Let go of all rows; what has no residual is never looked at."""
        self.residuals.fill(np.nan)


class Kept(NamedTuple):
    """Rows that are learned from: where among those given (k), and their slots of the day (k).

    ``places`` and ``residuals`` are k x m.
    """

    chosen: Places
    slots: Places
    places: Places
    residuals: Float64Array
