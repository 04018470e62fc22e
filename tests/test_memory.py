"""Replay sets as the paper's Algorithms 1 to 3 draw them."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from clearwatt.errors import ConfigurationError
from clearwatt.memory import replay_indices

POLICIES = ("random", "recent", "decay")

windows = st.lists(st.integers(0, 40), min_size=1, max_size=12)
budgets = st.integers(0, 120)
recents = st.integers(1, 15)


def edges(sizes: list[int]) -> list[int]:
    return [0, *np.cumsum(sizes).tolist()]


def eligible(policy: str, boundaries: list[int], recent_updates: int) -> tuple[int, int]:
    """D_H or D_Recent as Algorithms 1-3 write it: t_{-1} is boundaries[0], t_n the last."""
    n = len(boundaries) - 2
    if policy == "random" or n <= recent_updates - 1:
        return boundaries[0], boundaries[-1]
    return boundaries[n - recent_updates + 1], boundaries[-1]


def decay_shares(boundaries: list[int], budget: int, recent_updates: int) -> dict[int, int]:
    """Algorithm 3 line by line, with n <= N_R - 1 everywhere and exact rounding."""
    n = len(boundaries) - 2
    if n <= recent_updates - 1:
        tasks = range(n + 1)
        normaliser = (n + 1) * (n + 2) // 2
        weight = {m: m + 1 for m in tasks}
    else:
        tasks = range(n - recent_updates + 1, n + 1)
        normaliser = recent_updates * (recent_updates + 1) // 2
        weight = {m: m - (n - recent_updates) for m in tasks}
    exact = {m: weight[m] * budget / normaliser for m in tasks}
    share = {m: int(weight[m] * budget // normaliser) for m in tasks}
    by_remainder = sorted(tasks, key=lambda m: (round(share[m] - exact[m], 9), -m))
    for m in by_remainder[: budget - sum(share.values())]:
        share[m] += 1
    size = {m: boundaries[m + 1] - boundaries[m] for m in tasks}
    left = sum(max(share[m] - size[m], 0) for m in tasks)
    share = {m: min(share[m], size[m]) for m in tasks}
    for m in reversed(tasks):
        extra = min(left, size[m] - share[m])
        share[m] += extra
        left -= extra
    return share


def per_window(chosen: np.ndarray, boundaries: list[int]) -> list[int]:
    return np.histogram(chosen, bins=[*boundaries[:-1], boundaries[-1]])[0].tolist()


@pytest.mark.parametrize("policy", POLICIES)
@given(sizes=windows, budget=budgets, recent=recents, seed=st.integers(0, 5))
def test_replay_set_is_exact_distinct_and_eligible(policy, sizes, budget, recent, seed):
    boundaries = edges(sizes)
    chosen = replay_indices(policy, boundaries, budget, recent, np.random.default_rng(seed))
    start, stop = eligible(policy, boundaries, recent)
    assert len(chosen) == min(budget, stop - start)
    assert len(set(chosen.tolist())) == len(chosen)
    assert ((start <= chosen) & (chosen < stop)).all()
    assert (np.diff(chosen) > 0).all()


@given(sizes=windows, budget=budgets, recent=recents)
@example(sizes=[40, 40, 40], budget=3, recent=3)  # a tie of remainders: the newest gets it
def test_decay_splits_the_budget_as_algorithm_3(sizes, budget, recent):
    boundaries = edges(sizes)
    chosen = replay_indices("decay", boundaries, budget, recent, np.random.default_rng(0))
    window = np.searchsorted(boundaries, chosen, side="right") - 1
    wanted = {m: share for m, share in decay_shares(boundaries, budget, recent).items() if share}
    assert Counter(window.tolist()) == wanted


@given(count=st.integers(1, 10), budget=st.integers(1, 500), recent=recents)
def test_decay_is_within_one_of_the_weights_where_windows_are_large(count, budget, recent):
    boundaries = edges([500] * count)
    chosen = replay_indices("decay", boundaries, budget, recent, np.random.default_rng(0))
    taking = min(count, recent)
    weights = np.concatenate([np.zeros(count - taking), np.arange(1, taking + 1)])
    shares = per_window(chosen, boundaries)
    assert np.abs(shares - weights * budget / weights.sum()).max() < 1


@pytest.mark.parametrize("policy", ["recent", "decay"])
@pytest.mark.parametrize(("updates", "first"), [(4, 0), (5, 100), (6, 200)])
def test_boundary_case_of_the_window(policy, updates, first):
    """n = N_R is the first time that a window, the warm-up's, drops out."""
    boundaries = edges([100] * (updates + 1))
    chosen = replay_indices(policy, boundaries, 10_000, 5, np.random.default_rng(0))
    assert (chosen[0], len(chosen)) == (first, 500)


def test_decay_at_n_equal_to_the_window_keeps_the_budget():
    """With the paper's `n <= N_R` the weights would be 2..6 over 15 and exceed it."""
    boundaries = edges([100] * 6)
    chosen = replay_indices("decay", boundaries, 150, 5, np.random.default_rng(0))
    assert per_window(chosen, boundaries) == [0, 10, 20, 30, 40, 50]


def test_a_small_window_passes_its_rest_to_the_newest_first():
    boundaries = edges([100, 100, 52, 10])
    chosen = replay_indices("decay", boundaries, 100, 4, np.random.default_rng(0))
    assert per_window(chosen, boundaries) == [10, 28, 52, 10]


@pytest.mark.parametrize(("policy", "first"), [("random", 0), ("recent", 30)])
def test_draws_are_uniform(policy, first):
    rng, draws, budget = np.random.default_rng(0), 3000, 12
    boundaries = edges([30, 20, 10])
    counts = np.zeros(60)
    for _ in range(draws):
        counts[replay_indices(policy, boundaries, budget, 2, rng)] += 1
    share = budget / (60 - first)
    spread = np.sqrt(draws * share * (1 - share))
    assert (counts[:first] == 0).all()
    assert np.abs(counts[first:] - draws * share).max() < 5 * spread


def test_the_same_seed_draws_the_same():
    draws = [replay_indices("random", [0, 500], 20, None, np.random.default_rng(3)) for _ in "ab"]
    assert np.array_equal(*draws)


@pytest.mark.parametrize(
    ("policy", "boundaries", "budget", "recent", "says"),
    [
        ("newest", [0, 5], 1, 1, "'newest' is unknown; choose one of random, recent, decay"),
        ("random", [0, 5], -1, 1, "budget -1 is negative"),
        ("recent", [0, 5], 1, 0, "recent_updates is 0"),
        ("decay", [0, 5], 1, None, "recent_updates is None"),
        ("random", [1, 5], 1, 1, "must start at 0"),
        ("random", [0, 5, 4], 1, 1, "never decrease"),
        ("random", [], 1, 1, "must start at 0"),
    ],
)
def test_bad_arguments_are_named(policy, boundaries, budget, recent, says):
    with pytest.raises(ConfigurationError, match=says):
        replay_indices(policy, boundaries, budget, recent, np.random.default_rng(0))
