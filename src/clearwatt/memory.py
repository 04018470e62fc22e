"""What an instance remembers: shared inputs, novelty and familiarity buffers, history.

Every component of a zone sees the same inputs, so rows are stored once, in `Inputs`, and buffers
hold row numbers (and targets). A row number is the sample's place in the stream, warm-up included.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from clearwatt.arrays import Float32Array
from clearwatt.errors import ConfigurationError

Rows = npt.NDArray[np.int64]
Policy = Literal["random", "recent", "decay"]


class Samples(NamedTuple):
    """Row numbers (n) and, for a predictor, the measured targets (n)."""

    rows: Rows
    targets: Float32Array | None

    def at(self, index: npt.NDArray[np.int64] | npt.NDArray[np.bool_] | slice) -> Samples:
        """The samples at these positions."""
        return Samples(self.rows[index], None if self.targets is None else self.targets[index])


class _Growing:
    """An array that grows at its end in amortised constant time; what it holds never changes."""

    def __init__(self, values: npt.NDArray[np.generic]) -> None:
        self._values = values.copy()
        self._size = len(values)

    @property
    def view(self) -> npt.NDArray[np.generic]:
        return self._values[: self._size]

    def extend(self, values: npt.NDArray[np.generic]) -> None:
        size = self._size + len(values)
        if size > len(self._values):
            grown = np.empty((max(size, size * 5 // 4), *values.shape[1:]), self._values.dtype)
            grown[: self._size] = self.view
            self._values = grown
        self._values[self._size : size] = values
        self._size = size

    def replace(self, values: npt.NDArray[np.generic]) -> None:
        self._values, self._size = values.copy(), len(values)


class Inputs:
    """The input rows (n x d) that some buffer or history still refers to."""

    def __init__(self, width: int) -> None:
        self.width = width
        self._rows = _Growing(np.empty(0, np.int64))
        self._values = _Growing(np.empty((0, width), np.float32))
        self.next_row = 0

    def append(self, x: Float32Array) -> Rows:
        """Store x (n x d) and return its row numbers."""
        rows = np.arange(self.next_row, self.next_row + len(x), dtype=np.int64)
        self._rows.extend(rows)
        self._values.extend(x)
        self.next_row += len(x)
        return rows

    def take(self, rows: Rows) -> Float32Array:
        """The inputs (n x d) of these row numbers."""
        values: Float32Array = self.values[np.searchsorted(self.rows, rows)]
        return values

    def needed(self, by: Iterable[Rows]) -> tuple[Rows, Float32Array]:
        """Row numbers and inputs of every row that is in one of these."""
        held = self.rows
        first = int(held[0]) if len(held) else self.next_row
        # Marks instead of a sorted union: many components need much the same rows.
        marked = np.zeros(self.next_row - first, np.bool_)
        for rows in by:
            marked[rows - first] = True
        kept = marked[held - first]
        return (held, self.values) if kept.all() else (held[kept], self.values[kept])

    def keep(self, by: Iterable[Rows]) -> None:
        """Forget every row that is in none of these."""
        rows, values = self.needed(by)
        if len(rows) < len(self):
            self.restore(rows, values, next_row=self.next_row)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def parts(self) -> list[object]:
        """What a checkpoint has to remember."""
        return [self, self._rows, self._values]

    def restore(self, rows: Rows, values: Float32Array, *, next_row: int) -> None:
        """Replace the content, as when a saved state is read back."""
        self._rows.replace(rows)
        self._values.replace(values)
        self.next_row = next_row

    @property
    def rows(self) -> Rows:
        """Row numbers held, ascending."""
        return self._rows.view.astype(np.int64, copy=False)

    @property
    def values(self) -> Float32Array:
        """The inputs held (n x d), in the order of `rows`."""
        return self._values.view.astype(np.float32, copy=False)


class SampleList:
    """Samples in order of arrival."""

    def __init__(self, *, labelled: bool) -> None:
        self._rows = _Growing(np.empty(0, np.int64))
        self._targets = _Growing(np.empty(0, np.float32)) if labelled else None

    def __len__(self) -> int:
        return len(self._rows.view)

    @property
    def samples(self) -> Samples:
        """Everything held."""
        rows = self._rows.view.astype(np.int64, copy=False)
        if self._targets is None:
            return Samples(rows, None)
        return Samples(rows, self._targets.view.astype(np.float32, copy=False))

    def extend(self, samples: Samples) -> None:
        """Append samples."""
        self._rows.extend(samples.rows)
        if self._targets is not None and samples.targets is not None:
            self._targets.extend(samples.targets)

    def replace(self, samples: Samples) -> None:
        """Hold exactly these samples."""
        self._rows.replace(samples.rows)
        if self._targets is not None and samples.targets is not None:
            self._targets.replace(samples.targets)

    def drop(self, rows: Rows) -> int:
        """Let go of these rows; how many were held."""
        held = self.samples
        gone = np.isin(held.rows, rows)
        if gone.any():
            self.replace(held.at(~gone))
        return int(gone.sum())

    def correct(self, row: int, target: float) -> int:
        """Put another target to a row; in how many places it was held."""
        held = self.samples
        places = np.flatnonzero(held.rows == row)
        if held.targets is None or len(places) == 0:
            return 0
        targets = held.targets.copy()
        targets[places] = target
        self.replace(Samples(held.rows, targets))
        return len(places)

    def clear(self) -> None:
        """Hold nothing."""
        self.replace(self.samples.at(slice(0, 0)))

    @property
    def parts(self) -> list[object]:
        """What a checkpoint has to remember."""
        return [part for part in (self, self._rows, self._targets) if part is not None]


class FamiliarityBuffer(SampleList):
    """Familiar samples since the last update; a uniform reservoir of them if bounded."""

    def __init__(self, *, labelled: bool, capacity: int | None) -> None:
        super().__init__(labelled=labelled)
        self.capacity = capacity
        self.seen = 0

    def offer(self, samples: Samples, rng: np.random.Generator) -> None:
        """Take samples in; beyond the capacity each replaces a random one (Algorithm R).

        One random number per sample, so that one by one and in blocks draw the same.
        """
        order = self.seen + np.arange(len(samples.rows), dtype=np.int64)
        self.seen += len(order)
        if self.capacity is None:
            self.extend(samples)
            return
        slot = (rng.random(len(order)) * (order + 1)).astype(np.int64)
        first = np.arange(len(order)) < self.capacity - len(self)  # rows may have been dropped
        self.extend(samples.at(first))
        late = ~first & (slot < self.capacity)
        self._overwrite(slot[late], samples.at(late))

    def _overwrite(self, slots: Rows, samples: Samples) -> None:
        if len(slots) == 0:
            return
        self.replace(self.samples)  # a copy of its own: a checkpoint may point to the old one
        held = self.samples
        held.rows[slots] = samples.rows
        if held.targets is not None and samples.targets is not None:
            held.targets[slots] = samples.targets

    def drop(self, rows: Rows) -> int:
        """Let go of these rows; they count as never seen."""
        dropped = super().drop(rows)
        self.seen -= dropped
        return dropped

    def clear(self) -> None:
        """Hold nothing and start counting anew."""
        super().clear()
        self.seen = 0


class History(SampleList):
    """Everything observed, cut at the updates: task m is boundaries[m] <= i < boundaries[m + 1].

    The last window is open: it belongs to no task until the next update closes it.
    """

    def __init__(self, *, labelled: bool, recent_updates: int | None = None) -> None:
        super().__init__(labelled=labelled)
        self.recent_updates = recent_updates
        self.boundaries: list[int] = [0]

    def close(self) -> None:
        """An update is done: the open window becomes a task; old ones may now be forgotten."""
        self.boundaries = [*self.boundaries, len(self)]
        if self.recent_updates is not None:
            self._forget(len(self.boundaries) - 1 - self.recent_updates)

    def drop(self, rows: Rows) -> int:
        """Let go of these rows; every task keeps the others it had."""
        kept = ~np.isin(self.samples.rows, rows)
        before = np.concatenate([[0], np.cumsum(kept)])
        self.boundaries = before[self.boundaries].tolist()
        return super().drop(rows)

    def replay(self, policy: Policy, budget: int, rng: np.random.Generator) -> Samples:
        """A replay set drawn from the closed tasks by Algorithm 1, 2 or 3."""
        index = replay_indices(policy, self.boundaries, budget, self.recent_updates, rng)
        return self.samples.at(index)

    def _forget(self, tasks: int) -> None:
        if tasks > 0:
            start = self.boundaries[tasks]
            self.replace(self.samples.at(slice(start, None)))
            self.boundaries = [boundary - start for boundary in self.boundaries[tasks:]]


def replay_indices(
    policy: Policy,
    boundaries: Sequence[int],
    budget: int,
    recent_updates: int | None,
    rng: np.random.Generator,
) -> Rows:
    """Choose which past samples to replay (Algorithms 1-3), without replacement, ascending.

    Args:
        policy: "random" (all tasks alike), "recent" (the last `recent_updates` tasks alike) or
            "decay" (the last `recent_updates` tasks, weights 1, 2, ... rising with recency).
        boundaries: [0, t_0, ..., t_n]; task m is boundaries[m] <= i < boundaries[m + 1], task 0
            the warm-up.
        budget: S_R; exactly min(budget, available) indices come back.
        recent_updates: N_R; not used by "random".
        rng: source of randomness.
    """
    edges = _checked_boundaries(boundaries)
    if policy not in get_args(Policy):
        raise ConfigurationError(
            f"replay policy {policy!r} is unknown; choose one of {', '.join(get_args(Policy))}"
        )
    if budget < 0:
        raise ConfigurationError(f"replay budget {budget} is negative; give 0 or more")
    if policy != "random":
        edges = edges[-1 - _checked_recent(recent_updates) :]
    if policy == "decay":
        return _decayed(edges, budget, rng)
    return _uniform(int(edges[0]), int(edges[-1]), budget, rng)


def _uniform(start: int, stop: int, budget: int, rng: np.random.Generator) -> Rows:
    """Up to `budget` of start..stop-1, each with equal probability."""
    if stop - start <= budget:
        return np.arange(start, stop, dtype=np.int64)
    chosen = rng.choice(stop - start, size=budget, replace=False, shuffle=False)
    return start + np.sort(chosen).astype(np.int64)


def _decayed(edges: Rows, budget: int, rng: np.random.Generator) -> Rows:
    sizes = np.diff(edges)
    shares = _shares(sizes, budget)
    parts = [
        _uniform(int(start), int(start + size), int(share), rng)
        for start, size, share in zip(edges[:-1], sizes, shares, strict=True)
    ]
    return np.concatenate([np.empty(0, np.int64), *parts])


def _shares(sizes: Rows, budget: int) -> Rows:
    """Split the budget 1 : 2 : ... over the tasks by largest remainder, newest first in a tie.

    What a task is too small to give passes to the others, newest first.
    """
    weights = np.arange(1, len(sizes) + 1)
    total = int(weights.sum())
    shares = weights * budget // total
    remainders = weights * budget % total
    by_remainder = sorted(range(len(sizes)), key=lambda m: (-remainders[m], -m))
    for task in by_remainder[: budget - int(shares.sum())]:
        shares[task] += 1
    left = int(np.maximum(shares - sizes, 0).sum())
    shares = np.minimum(shares, sizes)
    for task in reversed(range(len(sizes))):
        extra = min(left, int(sizes[task] - shares[task]))
        shares[task] += extra
        left -= extra
    return shares.astype(np.int64)


def _checked_boundaries(boundaries: Sequence[int]) -> Rows:
    edges = np.asarray(boundaries, dtype=np.int64)
    if edges.ndim != 1 or len(edges) == 0 or edges[0] != 0 or (np.diff(edges) < 0).any():
        raise ConfigurationError(
            f"boundaries {list(boundaries)} must start at 0 and never decrease: [0, t_0, ..., t_n]"
        )
    return edges


def _checked_recent(recent_updates: int | None) -> int:
    if recent_updates is None or recent_updates < 1:
        raise ConfigurationError(
            f"recent_updates is {recent_updates}; this policy needs a whole number of at least 1"
        )
    return recent_updates
