"""How long after its time a reading arrives, estimated from the arrivals."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from clearwatt.arrays import Int64Array
from clearwatt.clock import SECONDS_PER_DAY
from clearwatt.service.times import FUTURE, Times

QUANTILE = 0.9
"""Share of deliveries within the estimated delay; the others are outages and their catching up."""
LONGEST = 7 * SECONDS_PER_DAY
"""Seconds. An older delivery is history, and tells nothing about the delay."""
FEWEST = 5
"""Deliveries of an entity before its delay is estimated."""
MOST = 400
"""Deliveries of an entity after which the older ones count half; with quarter hours, four days."""
EDGES: npt.NDArray[np.int64] = np.ceil(60 * 2 ** (np.arange(55) / 4)).astype(np.int64)
"""Upper ends of the bins, in seconds: from a minute to a week, four per doubling."""


class ReportingDelays:
    """Counts of deliveries by the age of their oldest reading; bounded for each entity.

    A delivery is what one journal entry has of an entity. It counts once, whatever its length, so
    that a long backlog after an outage does not outweigh the usual deliveries.

    Args:
        numbers: Entities by their number in the store, ascending, `e`.
        counts: `e x bins`.
    """

    def __init__(self) -> None:
        self.numbers: Int64Array = np.empty(0, np.int64)
        self.counts: npt.NDArray[np.int32] = np.empty((0, len(EDGES)), np.int32)

    def copy(self) -> ReportingDelays:
        """Another one, which is the same by now."""
        made = ReportingDelays()
        made.numbers, made.counts = self.numbers.copy(), self.counts.copy()
        return made

    def add(self, numbers: Int64Array, times: Times, *, received: float) -> None:
        """Count readings, by entity and time (n), that arrived together."""
        entities, places = np.unique(numbers, return_inverse=True)
        oldest = np.full(len(entities), np.iinfo(np.int64).max)
        np.minimum.at(oldest, places, times)
        ages = int(received) - oldest
        recent = (ages >= -FUTURE) & (ages <= LONGEST)
        if not recent.any():
            return
        rows = self._rows_of(entities[recent])
        self.counts[rows, np.searchsorted(EDGES, ages[recent])] += 1
        self.counts[self.counts.sum(axis=1) > MOST] //= 2

    def delay_of(self, number: int) -> int | None:
        """Seconds within which most deliveries of an entity arrive; None: too few are known."""
        return _quantile(self.counts[self.numbers == number].sum(axis=0))

    @property
    def delay(self) -> int | None:
        """The same for the deliveries of all entities."""
        return _quantile(self.counts.sum(axis=0))

    def remove(self, number: int) -> None:
        """Forget an entity."""
        left = self.numbers != number
        self.numbers, self.counts = self.numbers[left], self.counts[left]

    def tensors(self) -> dict[str, Tensor]:
        """What is saved."""
        return {
            "numbers": torch.from_numpy(self.numbers.copy()),
            "counts": torch.from_numpy(self.counts.copy()),
        }

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Inverse of `tensors`; a state of an earlier release has none."""
        if tensors:
            self.numbers = tensors["numbers"].numpy().copy()
            self.counts = tensors["counts"].numpy().copy()

    def _rows_of(self, entities: Int64Array) -> Int64Array:
        new = np.setdiff1d(entities, self.numbers)
        if len(new):
            numbers = np.concatenate([self.numbers, new])
            counts = np.concatenate([self.counts, np.zeros((len(new), len(EDGES)), np.int32)])
            order = np.argsort(numbers)
            self.numbers, self.counts = numbers[order], counts[order]
        return np.searchsorted(self.numbers, entities)


def _quantile(counts: npt.NDArray[np.int64]) -> int | None:
    total = int(counts.sum())
    if total < FEWEST:
        return None
    return int(EDGES[np.searchsorted(counts.cumsum(), QUANTILE * total)])
