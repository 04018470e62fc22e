"""What a zone keeps beside its adaptive forecaster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from clearwatt.adaptive.fast_part import FastPart
from clearwatt.arrays import Float32Array
from clearwatt.service.learner.apply.zone_models import RowBlock
from clearwatt.service.times import Times


class PendingRows(NamedTuple):
    """Rows that wait for the end of their period, when their forecasts are compared."""

    times: Times
    known: Float32Array
    readings: Float32Array

    @classmethod
    def empty(cls, entities: int) -> PendingRows:
        """No rows of a number of entities."""
        nothing = np.empty((0, entities), np.float32)
        return cls(np.empty(0, np.int64), nothing, nothing)

    def add(self, rows: RowBlock) -> PendingRows:
        """These rows, then others."""
        return PendingRows(
            np.concatenate([self.times, rows.times]),
            np.concatenate([self.known, rows.known]),
            np.concatenate([self.readings, rows.readings]),
        )

    def split(self, time: int) -> tuple[PendingRows, PendingRows]:
        """The rows before a time, and the others."""
        cut = int(np.searchsorted(self.times, time))
        return self._part(slice(cut)), self._part(slice(cut, None))

    def _part(self, rows: slice) -> PendingRows:
        return PendingRows(self.times[rows], self.known[rows], self.readings[rows])

    def without_readings(self, column: int, time: int) -> PendingRows:
        """The rows without the readings of an entity from a time on."""
        known, readings = self.known.copy(), self.readings.copy()
        known[self.times >= time, column] = readings[self.times >= time, column] = np.nan
        return PendingRows(self.times, known, readings)

    def without_entity(self, column: int) -> PendingRows:
        """The rows without an entity."""
        return PendingRows(
            self.times,
            np.delete(self.known, column, axis=1),
            np.delete(self.readings, column, axis=1),
        )

    def with_entities(self, count: int) -> PendingRows:
        """The rows with more entities, without readings of theirs."""
        blank = np.full((len(self.times), count), np.nan, np.float32)
        return PendingRows(
            self.times, np.hstack([self.known, blank]), np.hstack([self.readings, blank])
        )


class EarlierFastPart(NamedTuple):
    """What was learned besides networks and held samples before a time.

    ``wrong`` are entities that had learned from wrong readings by then.
    """

    time: int
    content: FastPart
    wrong: tuple[str, ...] = ()

    def is_right(self, name: str) -> bool:
        """Whether an entity may go back to it."""
        return name in self.content.names and name not in self.wrong


@dataclass(frozen=True, eq=False)
class AdaptiveProgress:
    """What is saved beside the forecaster.

    Args:
        first: Time of the first row of the warm-up.
        steps: Rows learned from since the warm-up.
        compared: Step of the last forecast that was compared with its measurement.
        revision: Counts changes of what forecasts are made with.
        base: Counts those of them that are not just another row.
        pending: Rows that wait for the end of their period.
        days: The fast part at the beginning of each of the last days, the newest last.
    """

    first: int
    steps: int
    compared: int
    revision: int
    base: int
    pending: PendingRows
    days: tuple[EarlierFastPart, ...] = ()
