"""The rows of the last days that what is usual has not been learned from yet."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from clearwatt.intervals.cells import BANDS, Cells, Places
from clearwatt.intervals.levels import Floats

DAYS = 4
"""Days of a batch: what is usual changes over weeks, and looking at it takes time."""


class Batch(NamedTuple):
    """Rows (`DAYS` times a day's slots) x m; NaN and cell 0 where there is none.

    ``units`` are residuals in units of their cells, ``z`` in units of their days: both as they were
    when the row came, under what was said of it.
    """

    places: Places
    residuals: Floats
    units: Floats
    z: Floats

    @classmethod
    def empty(cls, cells: Cells, entities: int) -> Batch:
        """One without rows."""
        shape = (DAYS * cells.slots, entities)
        blank = np.full(shape, np.nan)
        first = np.arange(entities, dtype=np.int64) * cells.count
        return cls(np.tile(first, (shape[0], 1)), blank, blank.copy(), blank.copy())

    def copy(self) -> Batch:
        """One that may be written to."""
        return Batch(self.places.copy(), self.residuals.copy(), self.units.copy(), self.z.copy())

    def rows(self, rows: slice) -> Batch:
        """Some rows, to be written to or read."""
        return Batch(self.places[rows], self.residuals[rows], self.units[rows], self.z[rows])

    def write(self, rows: npt.NDArray[np.int64], other: Batch) -> None:
        """Put rows where they belong."""
        for own, new in zip(self, other, strict=True):
            own[rows] = new

    def bands(self, cells: Cells) -> Places:
        """The band of each."""
        return self.places % cells.count % BANDS
