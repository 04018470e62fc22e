"""Replay sets: which past samples an update sees again (Algorithms 1 to 3 of the paper)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np

from clearwatt.arrays import Int64Array
from clearwatt.errors import ConfigurationError

Policy = Literal["random", "recent", "decay"]


def replay_indices(
    policy: Policy,
    boundaries: Sequence[int],
    budget: int,
    recent_updates: int | None,
    rng: np.random.Generator,
) -> Int64Array:
    """Indices of the past samples to replay (Algorithms 1-3): ascending, without replacement.

    Args:
        policy: "random" (all tasks alike), "recent" (the last `recent_updates` tasks alike) or
            "decay" (the last `recent_updates` tasks, weights 1, 2, ... rising with recency).
        boundaries: [0, t_0, ..., t_n]; task m is boundaries[m] <= i < boundaries[m + 1], task 0
            the warm-up.
        budget: S_R; exactly min(budget, available) indices are returned.
        recent_updates: N_R; not used by "random".
        rng: Source of randomness.
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
        return _sample_with_decay(edges, budget, rng)
    return _sample_uniformly(int(edges[0]), int(edges[-1]), budget, rng)


def _sample_uniformly(start: int, stop: int, budget: int, rng: np.random.Generator) -> Int64Array:
    """Up to `budget` of start..stop-1, drawn with equal probability."""
    if stop - start <= budget:
        return np.arange(start, stop, dtype=np.int64)
    chosen = rng.choice(stop - start, size=budget, replace=False, shuffle=False)
    return start + np.sort(chosen).astype(np.int64)


def _sample_with_decay(edges: Int64Array, budget: int, rng: np.random.Generator) -> Int64Array:
    sizes = np.diff(edges)
    shares = _shares(sizes, budget)
    parts = [
        _sample_uniformly(int(start), int(start + size), int(share), rng)
        for start, size, share in zip(edges[:-1], sizes, shares, strict=True)
    ]
    return np.concatenate([np.empty(0, np.int64), *parts])


def _shares(sizes: Int64Array, budget: int) -> Int64Array:
    """The budget split 1 : 2 : ... over the tasks by largest remainder; ties go to the newest.

    If a task has too few samples for its share, the rest goes to the others, newest first.
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


def _checked_boundaries(boundaries: Sequence[int]) -> Int64Array:
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
