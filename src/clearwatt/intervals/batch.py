"""The rows of the last days that what is usual has not been learned from yet."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from clearwatt.intervals.cells import BANDS, Cells, Places
from clearwatt.intervals.levels import Floats

DAYS = 4
"""Days of a batch: what is usual changes over weeks, and looking at it takes time."""


class Batch(NamedTuple):
    """Rows (`DAYS` times a day's slots) x m; NaN and cell 0 where there is none.

    ``units`` are residuals in units of their cells, ``z`` in units of their days, and ``reach`` in
    those and wider ones while a model is new: as they were when the row came, under what was said
    of it.
    """

    places: Places
    residuals: Floats
    units: Floats
    z: Floats
    reach: Floats

    @classmethod
    def empty(cls, cells: Cells, entities: int) -> Batch:
        """One without rows."""
        shape = (DAYS * cells.slots, entities)
        blank = np.full(shape, np.nan)
        first = np.arange(entities, dtype=np.int64) * cells.count
        blanks = (blank.copy() for _ in range(3))
        return cls(np.tile(first, (shape[0], 1)), blank, *blanks)

    def copy(self) -> Batch:
        """One that may be written to."""
        floats = (each.copy() for each in self[1:])
        return Batch(self.places.copy(), *floats)

    def write(self, rows: npt.NDArray[np.int64], other: Batch) -> None:
        """Put rows where they belong."""
        mine: tuple[npt.NDArray[Any], ...] = self
        theirs: tuple[npt.NDArray[Any], ...] = other
        for own, new in zip(mine, theirs, strict=True):
            own[rows] = new

    def bands(self, cells: Cells) -> Places:
        """The band of each."""
        return self.places % cells.count % BANDS


class Kept(NamedTuple):
    """Rows of a block that are learned from: where they are (k), their slots of the day (k).

    ``places`` and ``residuals`` are k x m.
    """

    chosen: Places
    slots: Places
    places: Places
    residuals: Floats

    def between(self, rows: slice) -> Kept:
        """Those among some rows of the block."""
        part = slice(*np.searchsorted(self.chosen, [rows.start, rows.stop]))
        return Kept(self.chosen[part], self.slots[part], self.places[part], self.residuals[part])
