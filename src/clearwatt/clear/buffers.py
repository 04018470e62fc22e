"""The buffers of a component: novelty, familiarity, and the history that a strategy may see.

They hold row numbers of the shared `InputStore` and, for a predictor, the measured targets.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from clearwatt.arrays import Float32Array, Int64Array
from clearwatt.clear.growing_array import GrowingArray
from clearwatt.memory import Policy, replay_indices


class SampleRows(NamedTuple):
    """Row numbers (n) and, for a predictor, the measured targets (n)."""

    rows: Int64Array
    targets: Float32Array | None

    def at(self, index: npt.NDArray[np.int64] | npt.NDArray[np.bool_] | slice) -> SampleRows:
        """The samples at these positions."""
        return SampleRows(self.rows[index], None if self.targets is None else self.targets[index])


class SampleBuffer:
    """Samples in order of arrival."""

    def __init__(self, *, labelled: bool) -> None:
        self._rows = GrowingArray(np.empty(0, np.int64))
        self._targets = GrowingArray(np.empty(0, np.float32)) if labelled else None

    def __len__(self) -> int:
        return len(self._rows.view)

    @property
    def samples(self) -> SampleRows:
        """All samples."""
        rows = self._rows.view.astype(np.int64, copy=False)
        if self._targets is None:
            return SampleRows(rows, None)
        return SampleRows(rows, self._targets.view.astype(np.float32, copy=False))

    def extend(self, samples: SampleRows) -> None:
        """Append samples."""
        self._rows.extend(samples.rows)
        if self._targets is not None and samples.targets is not None:
            self._targets.extend(samples.targets)

    def replace(self, samples: SampleRows) -> None:
        """Hold exactly these samples instead."""
        self._rows.replace(samples.rows)
        if self._targets is not None and samples.targets is not None:
            self._targets.replace(samples.targets)

    def drop(self, rows: Int64Array) -> int:
        """Remove these rows and return how many there were."""
        held = self.samples
        gone = np.isin(held.rows, rows)
        if gone.any():
            self.replace(held.at(~gone))
        return int(gone.sum())

    def correct(self, row: int, target: float) -> int:
        """Change the target of a row and return how many samples had that row."""
        held = self.samples
        places = np.flatnonzero(held.rows == row)
        if held.targets is None or len(places) == 0:
            return 0
        targets = held.targets.copy()
        targets[places] = target
        self.replace(SampleRows(held.rows, targets))
        return len(places)

    def clear(self) -> None:
        """Remove all samples."""
        self.replace(self.samples.at(slice(0, 0)))

    @property
    def parts(self) -> list[object]:
        """The objects whose attributes a rollback has to save."""
        return [part for part in (self, self._rows, self._targets) if part is not None]


class FamiliarityBuffer(SampleBuffer):
    """Familiar samples since the last update; with a capacity, a uniform reservoir of them."""

    def __init__(self, *, labelled: bool, capacity: int | None) -> None:
        super().__init__(labelled=labelled)
        self.capacity = capacity
        self.seen = 0

    def offer(self, samples: SampleRows, rng: np.random.Generator) -> None:
        """Add samples; beyond the capacity, each replaces a random one (Algorithm R).

        Draws one random number per sample, so that the result does not depend on block sizes.
        """
        order = self.seen + np.arange(len(samples.rows), dtype=np.int64)
        self.seen += len(order)
        if self.capacity is None:
            self.extend(samples)
            return
        slot = (rng.random(len(order)) * (order + 1)).astype(np.int64)
        first = np.arange(len(order)) < self.capacity - len(self)  # drop() may have made room
        self.extend(samples.at(first))
        late = ~first & (slot < self.capacity)
        self._overwrite(slot[late], samples.at(late))

    def _overwrite(self, slots: Int64Array, samples: SampleRows) -> None:
        if len(slots) == 0:
            return
        self.replace(self.samples)  # a new copy: a rollback may refer to the old array
        held = self.samples
        held.rows[slots] = samples.rows
        if held.targets is not None and samples.targets is not None:
            held.targets[slots] = samples.targets

    def drop(self, rows: Int64Array) -> int:
        """Remove these rows; they count as never seen."""
        dropped = super().drop(rows)
        self.seen -= dropped
        return dropped

    def clear(self) -> None:
        """Remove all samples and reset the count."""
        super().clear()
        self.seen = 0


class TaskHistory(SampleBuffer):
    """Observed samples, divided into tasks: task m is boundaries[m] <= i < boundaries[m + 1].

    Samples after the last boundary belong to no task until the next update closes it.
    """

    def __init__(self, *, labelled: bool, recent_updates: int | None = None) -> None:
        super().__init__(labelled=labelled)
        self.recent_updates = recent_updates
        self.boundaries: list[int] = [0]

    def close(self) -> None:
        """Make the samples since the last update a task; drop tasks older than `recent_updates`."""
        self.boundaries = [*self.boundaries, len(self)]
        if self.recent_updates is not None:
            self._forget(len(self.boundaries) - 1 - self.recent_updates)

    def drop(self, rows: Int64Array) -> int:
        """Remove these rows; every task keeps its other rows."""
        kept = ~np.isin(self.samples.rows, rows)
        before = np.concatenate([[0], np.cumsum(kept)])
        self.boundaries = before[self.boundaries].tolist()
        return super().drop(rows)

    def replay(self, policy: Policy, budget: int, rng: np.random.Generator) -> SampleRows:
        """A replay set, drawn from the closed tasks by Algorithm 1, 2 or 3."""
        index = replay_indices(policy, self.boundaries, budget, self.recent_updates, rng)
        return self.samples.at(index)

    def _forget(self, tasks: int) -> None:
        if tasks > 0:
            start = self.boundaries[tasks]
            self.replace(self.samples.at(slice(start, None)))
            self.boundaries = [boundary - start for boundary in self.boundaries[tasks:]]
