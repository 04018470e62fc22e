"""Replay sets by the paper's algorithms, buffers, the reservoir, and inputs that stay findable."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from clearwatt.errors import ConfigurationError
from clearwatt.memory import (
    FamiliarityBuffer,
    History,
    Inputs,
    SampleList,
    Samples,
    replay_indices,
)

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


def samples(rows) -> Samples:
    rows = np.asarray(rows, dtype=np.int64)
    return Samples(rows, rows.astype(np.float32) / 2)


@given(
    cuts=st.lists(st.integers(1, 30), min_size=1, max_size=12),
    capacity=st.one_of(st.none(), st.integers(1, 40)),
)
def test_reservoir_in_blocks_equals_one_by_one(cuts, capacity):
    total = sum(cuts)
    blocks, singly = (FamiliarityBuffer(labelled=True, capacity=capacity) for _ in range(2))
    for buffer, parts in ((blocks, cuts), (singly, [1] * total)):
        rng, start = np.random.default_rng(1), 0
        for size in parts:
            buffer.offer(samples(range(start, start + size)), rng)
            start += size
    assert np.array_equal(blocks.samples.rows, singly.samples.rows)
    assert np.array_equal(blocks.samples.targets, blocks.samples.rows / 2)
    assert blocks.seen == singly.seen == total
    assert len(blocks) == (total if capacity is None else min(capacity, total))


def test_reservoir_is_uniform_over_everything_offered():
    rng, runs, offered, capacity = np.random.default_rng(0), 6000, 6, 2
    counts = np.zeros(offered)
    for _ in range(runs):
        buffer = FamiliarityBuffer(labelled=False, capacity=capacity)
        buffer.offer(Samples(np.arange(offered), None), rng)
        counts[buffer.samples.rows] += 1
    share = capacity / offered
    assert np.abs(counts - runs * share).max() < 5 * np.sqrt(runs * share * (1 - share))


def test_a_cleared_reservoir_starts_anew():
    buffer = FamiliarityBuffer(labelled=True, capacity=4)
    rng = np.random.default_rng(0)
    buffer.offer(samples(range(100)), rng)
    buffer.clear()
    assert (len(buffer), buffer.seen) == (0, 0)
    buffer.offer(samples(range(200, 204)), rng)
    assert buffer.samples.rows.tolist() == [200, 201, 202, 203]


def test_what_was_taken_from_a_buffer_survives_its_reuse():
    buffer = SampleList(labelled=True)
    buffer.extend(samples([1, 2, 3]))
    taken = buffer.samples
    buffer.clear()
    buffer.extend(samples([7, 8, 9]))
    assert (taken.rows.tolist(), taken.targets.tolist()) == ([1, 2, 3], [0.5, 1.0, 1.5])


@given(sizes=st.lists(st.integers(0, 20), min_size=1, max_size=10), recent=st.integers(1, 6))
def test_a_bounded_history_replays_as_the_whole_one_would(sizes, recent):
    """Forgetting old windows changes nothing about what Algorithms 2 and 3 may draw."""
    bounded = History(labelled=True, recent_updates=recent)
    start = 0
    for size in sizes:
        bounded.extend(samples(range(start, start + size)))
        bounded.close()
        start += size
    bounded.extend(samples(range(start, start + 5)))
    boundaries = edges(sizes)
    for policy in ("recent", "decay"):
        replayed = bounded.replay(policy, 15, np.random.default_rng(0))
        wanted = replay_indices(policy, boundaries, 15, recent, np.random.default_rng(0))
        assert replayed.rows.tolist() == wanted.tolist()
        assert np.array_equal(replayed.targets, replayed.rows / 2)
    assert len(bounded) == sum(sizes[-recent:]) + 5


def test_replay_leaves_out_the_open_window():
    history = History(labelled=False)
    history.extend(Samples(np.arange(10), None))
    history.close()
    history.extend(Samples(np.arange(10, 30), None))
    replayed = history.replay("random", 100, np.random.default_rng(0))
    assert replayed.rows.tolist() == list(range(10))


@settings(max_examples=50)
@given(st.data())
def test_inputs_find_every_row_they_were_told_to_keep(data):
    inputs = Inputs(2)
    kept: set[int] = set()
    for _ in range(data.draw(st.integers(1, 6))):
        size = data.draw(st.integers(0, 20))
        first = inputs.next_row
        values = np.arange(first, first + size, dtype=np.float32)[:, None] * [1, -1]
        kept |= set(inputs.append(values.astype(np.float32)).tolist())
        if kept and data.draw(st.booleans()):
            kept = data.draw(st.sets(st.sampled_from(sorted(kept))))
            inputs.keep([np.array(sorted(kept), dtype=np.int64)])
    rows = np.array(sorted(kept), dtype=np.int64)
    assert inputs.rows.tolist() == rows.tolist()
    assert np.array_equal(inputs.take(rows), rows[:, None] * [1, -1])


@settings(max_examples=50, deadline=None)
@given(
    sizes=st.lists(st.integers(0, 20), min_size=1, max_size=6),
    gone=st.sets(st.integers(0, 130), max_size=60),
)
def test_a_history_that_drops_rows_is_that_of_the_others(sizes, gone):
    dropped, never = History(labelled=True), History(labelled=True)
    first = 0
    for size in sizes:
        rows = np.arange(first, first + size)
        dropped.extend(samples(rows))
        never.extend(samples([row for row in rows if row not in gone]))
        dropped.close()
        never.close()
        first += size
    removed = dropped.drop(np.array(sorted(gone), dtype=np.int64))
    assert removed == sum(row < first for row in gone)
    assert dropped.boundaries == never.boundaries
    assert np.array_equal(dropped.samples.rows, never.samples.rows)
    assert np.array_equal(dropped.samples.targets, never.samples.targets)


@settings(max_examples=50, deadline=None)
@given(
    capacity=st.integers(1, 12),
    steps=st.lists(st.tuples(st.integers(0, 15), st.sets(st.integers(0, 60))), max_size=6),
)
def test_a_reservoir_that_drops_rows_fills_up_again(capacity, steps):
    """In blocks as one by one, never beyond its bound, never with a row twice."""
    blocks, singly = (FamiliarityBuffer(labelled=True, capacity=capacity) for _ in range(2))
    draws = [np.random.default_rng(3) for _ in range(2)]
    first = 0
    for size, gone in steps:
        rows = np.arange(first, first + size)
        blocks.offer(samples(rows), draws[0])
        for row in rows:
            singly.offer(samples([row]), draws[1])
        for buffer in (blocks, singly):
            buffer.drop(np.array(sorted(gone), dtype=np.int64))
        first += size
        assert np.array_equal(blocks.samples.rows, singly.samples.rows)
        assert blocks.seen == singly.seen >= len(blocks)
        assert len(set(blocks.samples.rows)) == len(blocks) <= capacity
        assert not gone & set(blocks.samples.rows)


def test_a_correction_leaves_alone_what_was_taken_before():
    buffer = SampleList(labelled=True)
    buffer.extend(samples([4, 7, 4]))
    before = buffer.samples
    kept = before.targets.copy()
    assert buffer.correct(4, 9.0) == 2
    assert buffer.samples.targets.tolist() == [9.0, kept[1], 9.0]
    assert np.array_equal(before.targets, kept)
    assert buffer.correct(5, 1.0) == 0
    assert SampleList(labelled=False).correct(4, 1.0) == 0
