"""The input rows of an instance, stored once for all of its components.

Buffers hold row numbers. A row number is the sample's place in the stream, warm-up included.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from clearwatt.arrays import Float32Array, Int64Array
from clearwatt.clear.growing_array import GrowingArray


class InputStore:
    """The input rows (n x d) that some buffer or history still refers to."""

    def __init__(self, width: int) -> None:
        self.width = width
        self._rows = GrowingArray(np.empty(0, np.int64))
        self._values = GrowingArray(np.empty((0, width), np.float32))
        self.next_row = 0

    def append(self, x: Float32Array) -> Int64Array:
        """Store x (n x d) and return its row numbers."""
        rows = np.arange(self.next_row, self.next_row + len(x), dtype=np.int64)
        self._rows.extend(rows)
        self._values.extend(x)
        self.next_row += len(x)
        return rows

    def take(self, rows: Int64Array) -> Float32Array:
        """The inputs (n x d) of these row numbers."""
        values: Float32Array = self.values[np.searchsorted(self.rows, rows)]
        return values

    def select(self, by: Iterable[Int64Array]) -> tuple[Int64Array, Float32Array]:
        """Row numbers and inputs of the rows that any of these arrays of row numbers contains."""
        held = self.rows
        first = int(held[0]) if len(held) else self.next_row
        # A mask is faster than a sorted union: components mostly need the same rows.
        marked = np.zeros(self.next_row - first, np.bool_)
        for rows in by:
            marked[rows - first] = True
        kept = marked[held - first]
        return (held, self.values) if kept.all() else (held[kept], self.values[kept])

    def keep(self, by: Iterable[Int64Array]) -> None:
        """Drop every row that none of these arrays of row numbers contains."""
        rows, values = self.select(by)
        if len(rows) < len(self):
            self.restore(rows, values, next_row=self.next_row)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def parts(self) -> list[object]:
        """The objects whose attributes a rollback has to save."""
        return [self, self._rows, self._values]

    def restore(self, rows: Int64Array, values: Float32Array, *, next_row: int) -> None:
        """Replace the content, for example by a saved state."""
        self._rows.replace(rows)
        self._values.replace(values)
        self.next_row = next_row

    @property
    def rows(self) -> Int64Array:
        """The stored row numbers, ascending."""
        return self._rows.view.astype(np.int64, copy=False)

    @property
    def values(self) -> Float32Array:
        """The stored inputs (n x d), in the order of `rows`."""
        return self._values.view.astype(np.float32, copy=False)
