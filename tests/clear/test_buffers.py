"""Buffers and the history: the reservoir is uniform, windows are dropped, rows are forgotten."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from clearwatt.clear.buffers import FamiliarityBuffer, SampleBuffer, SampleRows, TaskHistory
from clearwatt.memory import replay_indices


def edges(sizes: list[int]) -> list[int]:
    return [0, *np.cumsum(sizes).tolist()]


def samples(rows) -> SampleRows:
    rows = np.asarray(rows, dtype=np.int64)
    return SampleRows(rows, rows.astype(np.float32) / 2)


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
        buffer.offer(SampleRows(np.arange(offered), None), rng)
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
    buffer = SampleBuffer(labelled=True)
    buffer.extend(samples([1, 2, 3]))
    taken = buffer.samples
    buffer.clear()
    buffer.extend(samples([7, 8, 9]))
    assert (taken.rows.tolist(), taken.targets.tolist()) == ([1, 2, 3], [0.5, 1.0, 1.5])


@given(sizes=st.lists(st.integers(0, 20), min_size=1, max_size=10), recent=st.integers(1, 6))
def test_a_bounded_history_replays_as_the_whole_one_would(sizes, recent):
    """Forgetting old windows changes nothing about what Algorithms 2 and 3 may draw."""
    bounded = TaskHistory(labelled=True, recent_updates=recent)
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
    history = TaskHistory(labelled=False)
    history.extend(SampleRows(np.arange(10), None))
    history.close()
    history.extend(SampleRows(np.arange(10, 30), None))
    replayed = history.replay("random", 100, np.random.default_rng(0))
    assert replayed.rows.tolist() == list(range(10))


@settings(max_examples=50, deadline=None)
@given(
    sizes=st.lists(st.integers(0, 20), min_size=1, max_size=6),
    gone=st.sets(st.integers(0, 130), max_size=60),
)
def test_a_history_that_drops_rows_is_that_of_the_others(sizes, gone):
    dropped, never = TaskHistory(labelled=True), TaskHistory(labelled=True)
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
    buffer = SampleBuffer(labelled=True)
    buffer.extend(samples([4, 7, 4]))
    before = buffer.samples
    kept = before.targets.copy()
    assert buffer.correct(4, 9.0) == 2
    assert buffer.samples.targets.tolist() == [9.0, kept[1], 9.0]
    assert np.array_equal(before.targets, kept)
    assert buffer.correct(5, 1.0) == 0
    assert SampleBuffer(labelled=False).correct(4, 1.0) == 0
