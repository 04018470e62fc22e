"""The rows of the last days: joined in order of time, replaced, looked up."""

import numpy as np

from clearwatt.adaptive.recent import RecentRows


def rows(at, measured=np.nan):
    blank = RecentRows.blank(0, inputs=1, seen=1, entities=1, lags=0)
    values = np.full((len(at), 1), measured)
    return blank.fresh(np.asarray(at, dtype=np.int64), np.zeros((len(at), 1)), values)


def test_rows_are_in_order_of_time_however_they_come():
    found = rows([3, 4, 8], 1.0).add_rows(rows([5, 9], 2.0))
    np.testing.assert_array_equal(found.at, [3, 4, 5, 8, 9])
    np.testing.assert_array_equal(found.measured[:, 0], [1, 1, 2, 1, 2])


def test_replacing_leaves_the_rows_before_as_they_were():
    first = rows([3, 4])
    second = first.replace_values(np.array([1]), measured=np.array([[7.0]]))
    assert np.isnan(first.measured).all()
    np.testing.assert_array_equal(second.measured_rows, [1])


def test_a_step_that_is_not_there_is_not_found():
    places, there = rows([3, 4, 8]).places(np.array([4, 5, 9, -1]))
    np.testing.assert_array_equal(there, [True, False, False, False])
    assert places[0] == 1
    assert not rows([]).places(np.array([4]))[1].any()


def test_forecasts_share_the_rows_they_need():
    held = rows([3, 4], 1.0)
    assert held.lags.measured is held.measured
    np.testing.assert_array_equal(held.lags.add_rows(rows([5], 2.0).lags).measured, [[1], [1], [2]])
    np.testing.assert_array_equal(held.lags.part(slice(1)).at, [3])
