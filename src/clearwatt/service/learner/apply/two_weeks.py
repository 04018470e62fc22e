"""Daily sums per entity over two weeks, and which entities fail a check of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import torch
from torch import Tensor

from clearwatt.arrays import BoolArray, Float64Array, Int64Array
from clearwatt.clock import DAYS_PER_WEEK, SECONDS_PER_DAY

DAYS = 2 * DAYS_PER_WEEK
ENOUGH = 0.5
"""Share of the steps of two weeks that a judgement needs; some must be on the first day."""

Check = Callable[[Float64Array], BoolArray]
"""Which entities fail, from their sums over two weeks (entities x quantities)."""


class TwoWeeks:
    """Sums of some quantities, the first of which counts samples, and a check of them.

    A day is one of UTC, named by its first second. Judgement happens at midnights of the stream, so
    that it does not depend on how the stream was cut.

    ``sums`` has the sums of each day (entities x quantities), ``total`` those over the two weeks
    before the last midnight, ``failing`` (entities) the last judgement.
    """

    def __init__(self, quantities: int, *, fails: Check) -> None:
        self._quantities, self._fails = quantities, fails
        self.sums: dict[int, Float64Array] = {}
        self.total: Float64Array = np.zeros((0, quantities))
        self.failing: BoolArray = np.zeros(0, np.bool_)

    def add_columns(self, count: int) -> None:
        """Make room for more entities."""
        blank = np.zeros((count, self._quantities))
        self.sums = {day: np.concatenate([sums, blank]) for day, sums in self.sums.items()}
        self.total = np.concatenate([self.total, blank])
        self.failing = np.concatenate([self.failing, np.zeros(count, np.bool_)])

    def remove_column(self, column: int) -> None:
        """Remove an entity."""
        self.sums = {day: np.delete(sums, column, axis=0) for day, sums in self.sums.items()}
        self.total = np.delete(self.total, column, axis=0)
        self.failing = np.delete(self.failing, column)

    def add(self, day: int, sums: Float64Array) -> None:
        """Add to the sums (entities x quantities) of a day."""
        self.sums[day] = self.sums.get(day, 0.0) + sums

    def clear(self, day: int, columns: Int64Array) -> None:
        """Set the sums of some entities on a day to zero."""
        if day in self.sums:
            self.sums[day][columns] = 0.0

    def judge(self, midnight: int, *, steps: int) -> Int64Array:
        """Judge the two weeks before a midnight; returns the entities whose judgement changed.

        The judgement of an entity with too few samples stays. Sums of earlier days are deleted.

        Args:
            midnight: The first second of a day.
            steps: Steps per day.
        """
        first = midnight - DAYS * SECONDS_PER_DAY
        self.sums = {day: self.sums[day] for day in sorted(self.sums) if day >= first}
        blank = np.zeros_like(self.total)
        window = [sums for day, sums in self.sums.items() if day < midnight]
        self.total = np.sum([blank, *window], axis=0)
        begun = self.sums.get(first, blank)[:, 0] > 0
        full = begun & (self.total[:, 0] >= ENOUGH * DAYS * steps)
        before = self.failing
        self.failing = np.where(full, self._fails(self.total), before)
        return np.flatnonzero(self.failing != before)

    def tensors(self) -> dict[str, Tensor]:
        """The tensors of the state."""
        sums = [np.zeros((0, *self.total.shape)), *(each[None] for each in self.sums.values())]
        return {
            "days": torch.tensor(list(self.sums), dtype=torch.int64),
            "sums": torch.from_numpy(np.concatenate(sums)),
            "total": torch.from_numpy(self.total.copy()),
            "failing": torch.from_numpy(self.failing.astype(np.uint8)),
        }

    def restore(self, tensors: Mapping[str, Tensor], *, columns: int) -> None:
        """Restore a saved state; without one, begin with a number of entities."""
        if not tensors:
            self.add_columns(columns)
            return
        days = tensors["days"].tolist()
        self.sums = dict(zip(days, tensors["sums"].numpy(), strict=True))
        self.total = tensors["total"].numpy()
        self.failing = tensors["failing"].numpy().astype(np.bool_)
