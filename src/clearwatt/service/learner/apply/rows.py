"""Received readings on the clock of a zone, as open and closed rows.

A row is one step of the zone's clock with a reading of every entity that learns. It closes when it
is complete or overdue. Closed rows are learned from in order of time.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from clearwatt.arrays import BoolArray, Float32Array
from clearwatt.clock import is_overdue
from clearwatt.service.learner.apply.watermark import find_watermark, limit_to_arrival
from clearwatt.service.times import Times


class Rows:
    """Readings (n x entities) on a uniform clock from ``start`` on; NaN where there is none.

    ``reported`` marks received readings, nulls included. Rows before ``next`` are closed; they are
    kept for the look-back of the quality checks.
    """

    def __init__(self, *, step: int, start: int, columns: int) -> None:
        self.step, self.start, self.next = step, start, start
        self.watermark: int | None = None
        self.values: Float32Array = np.empty((0, columns), np.float32)
        self.reported: BoolArray = np.empty((0, columns), np.bool_)

    @property
    def times(self) -> Times:
        """The times of the rows (n)."""
        return self.start + self.step * np.arange(len(self.values), dtype=np.int64)

    def index(self, times: Times) -> npt.NDArray[np.int64]:
        """The row numbers of these times; they may lie outside."""
        return (times - self.start) // self.step

    def overdue_mask(self, times: Times, lateness: int) -> BoolArray:
        """Which of these times are overdue."""
        if self.watermark is None:
            return np.zeros(len(times), np.bool_)
        return (times < self.start) | is_overdue(times, newest=self.watermark, lateness=lateness)

    def has_reading(self, columns: npt.NDArray[np.int64], times: Times) -> BoolArray:
        """Which of these cells have a reading already."""
        at = self.index(times)
        inside = (at >= 0) & (at < len(self.values))
        found = np.zeros(len(times), np.bool_)
        found[inside] = self.reported[at[inside], columns[inside]]
        return found

    def put(
        self,
        columns: npt.NDArray[np.int64],
        times: Times,
        values: Float32Array,
        *,
        lateness: int,
        received: float | None = None,
    ) -> None:
        """Enter readings, none before ``start``; a later reading replaces an earlier one.

        Args:
            columns: Entity of each reading (n).
            times: Their times (n).
            values: Their values (n).
            lateness: Seconds that readings may be late.
            received: When they arrived, by the wall clock; None: unknown.
        """
        if len(times) == 0:
            return
        at = self.index(times)
        self._grow(int(at.max()) + 1)
        self.values[at, columns] = values
        self.reported[at, columns] = True
        self._advance_watermark(int(times.max()), lateness, received)

    def _advance_watermark(self, newest: int, lateness: int, received: float | None) -> None:
        """Move the watermark to the newest reading, unless that is far ahead of all others."""
        if self.watermark is None or newest > self.watermark + max(lateness, self.step):
            columns = np.flatnonzero(self.reported.any(axis=0))
            last = len(self.reported) - 1 - np.argmax(self.reported[::-1, columns], axis=0)

            def count(column: int, after: int, until: int) -> int:
                first, end = self.index(np.array([after, until])) + 1
                return int(self.reported[max(first, 0) : end, columns[column]].sum())

            newest = find_watermark(
                self.start + self.step * last, count, step=self.step, lateness=lateness
            )
        if received is not None:
            newest = limit_to_arrival(newest, received, step=self.step)
        self.watermark = newest if self.watermark is None else max(newest, self.watermark)

    def add_column(self) -> None:
        """Add a column for another entity, without readings."""
        blank = np.full((len(self.values), 1), np.nan, np.float32)
        self.values = np.hstack([self.values, blank])
        self.reported = np.hstack([self.reported, np.zeros((len(blank), 1), np.bool_)])

    def remove_column(self, column: int) -> None:
        """Remove the column of an entity; rows no longer wait for its readings."""
        self.values = np.delete(self.values, column, axis=1)
        self.reported = np.delete(self.reported, column, axis=1)

    def count_settled(self, covered: BoolArray, expected: BoolArray, lateness: int) -> int:
        """Number of consecutive rows from ``next`` on that are complete or overdue.

        Args:
            covered: Whether each open row has weather (n from ``next`` on).
            expected: Whether a row waits for the reading of each entity (entities).
            lateness: Seconds behind the newest reading after which a row is overdue.
        """
        first = self._open
        done = (self.reported[first:] | ~expected).all(axis=1) & covered
        if self.watermark is not None:
            done |= is_overdue(self.times[first:], newest=self.watermark, lateness=lateness)
        return int(np.argmin(done)) if not done.all() else len(done)

    def close(self, count: int, *, keep: int) -> None:
        """Close ``count`` rows and delete closed ones except the ``keep`` newest."""
        self.next += count * self.step
        stale = max(0, self._open - keep)
        self.values, self.reported = self.values[stale:], self.reported[stale:]
        self.start += stale * self.step

    @property
    def open_times(self) -> Times:
        """The times of the rows that are not closed."""
        return self.times[self._open :]

    @property
    def _open(self) -> int:
        return (self.next - self.start) // self.step

    def _grow(self, size: int) -> None:
        missing = size - len(self.values)
        if missing > 0:
            columns = self.values.shape[1]
            blank = np.full((missing, columns), np.nan, np.float32)
            self.values = np.concatenate([self.values, blank])
            self.reported = np.concatenate([self.reported, np.zeros((missing, columns), np.bool_)])
