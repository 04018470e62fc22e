import numpy as np

from clearwatt.intervals import WINDOW_DAYS, Window

DAY = 4


def window(steps, entities=2):
    steps = np.asarray(steps, np.int64)
    rows = np.repeat(steps[:, None].astype(np.float32), entities, axis=1)
    return Window(rows, rows + 1, steps)


def test_the_last_days_are_kept_however_samples_come():
    every = np.flatnonzero(np.random.default_rng(0).random(20 * DAY) < 0.7)
    once = Window.empty(2, 2).with_newer(window(every), DAY)
    singly = Window.empty(2, 2)
    for step in every:
        singly = singly.with_newer(window([step]), DAY)
    for kept in (once, singly):
        wanted = every[every > every[-1] - WINDOW_DAYS * DAY]
        np.testing.assert_array_equal(kept.steps, wanted)
        np.testing.assert_array_equal(kept.x[:, 0], wanted)
        np.testing.assert_array_equal(kept.y[:, 1], wanted + 1)


def test_nothing_newer_changes_nothing():
    kept = window(range(5)).with_newer(window([]), DAY)
    np.testing.assert_array_equal(kept.steps, np.arange(5))
    assert len(Window.empty(2, 2).with_newer(window([]), DAY).steps) == 0


def test_what_is_left_out_is_not_measured_any_more():
    before = window(range(5))
    after = before.without(np.array([1]), 1, 3)
    assert np.isnan(after.y[:, 1]).tolist() == [False, True, True, False, False]
    assert not np.isnan(after.y[:, 0]).any()
    assert not np.isnan(before.y).any()


def test_an_entity_that_joins_has_measured_nothing():
    after = window(range(3)).joined()
    assert after.y.shape == (3, 3)
    assert np.isnan(after.y[:, 2]).all()
