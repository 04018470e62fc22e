import numpy as np

from clearwatt.intervals import WINDOW_DAYS, SampleWindow

DAY = 4


def window(steps, entities=2):
    steps = np.asarray(steps, np.int64)
    rows = np.repeat(steps[:, None].astype(np.float32), entities, axis=1)
    return SampleWindow(rows, rows + 1, steps)


def test_the_last_days_are_kept_however_samples_come():
    every = np.flatnonzero(np.random.default_rng(0).random(20 * DAY) < 0.7)
    once = SampleWindow.empty(2, 2).append(window(every), day=DAY)
    singly = SampleWindow.empty(2, 2)
    for step in every:
        singly = singly.append(window([step]), day=DAY)
    for kept in (once, singly):
        wanted = every[every > every[-1] - WINDOW_DAYS * DAY]
        np.testing.assert_array_equal(kept.steps, wanted)
        np.testing.assert_array_equal(kept.x[:, 0], wanted)
        np.testing.assert_array_equal(kept.y[:, 1], wanted + 1)


def test_nothing_newer_changes_nothing():
    kept = window(range(5)).append(window([]), day=DAY)
    np.testing.assert_array_equal(kept.steps, np.arange(5))
    assert len(SampleWindow.empty(2, 2).append(window([]), day=DAY).steps) == 0


def test_what_is_left_out_is_not_measured_any_more():
    before = window(range(5))
    after = before.forget(np.array([1]), 1, 3)
    assert np.isnan(after.y[:, 1]).tolist() == [False, True, True, False, False]
    assert not np.isnan(after.y[:, 0]).any()
    assert not np.isnan(before.y).any()


def test_an_entity_that_joins_has_measured_nothing():
    after = window(range(3)).add_entity()
    assert after.y.shape == (3, 3)
    assert np.isnan(after.y[:, 2]).all()


def test_measurements_are_in_double_precision():
    some = window(range(5)).measurements(np.array([1]))
    assert some.dtype == np.float64
    np.testing.assert_array_equal(some[:, 0], np.arange(5) + 1)
    np.testing.assert_array_equal(window(range(5)).rows(slice(1, 3)).steps, [1, 2])
