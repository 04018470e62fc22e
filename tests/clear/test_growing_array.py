"""An array that grows keeps its values, and views of it do not change."""

import numpy as np

from clearwatt.clear.growing_array import GrowingArray


def test_it_holds_what_was_appended_in_order():
    array = GrowingArray(np.array([1.0]))
    for size in (0, 3, 100):
        array.extend(np.full(size, float(size)))
    assert array.view.tolist() == [1.0, *[3.0] * 3, *[100.0] * 100]


def test_views_taken_before_stay_as_they_are():
    array = GrowingArray(np.arange(4))
    before = array.view
    array.extend(np.arange(50))
    array.replace(np.zeros(2, np.int64))
    assert before.tolist() == [0, 1, 2, 3]
    assert array.view.tolist() == [0, 0]


def test_it_does_not_share_memory_with_what_it_was_given():
    values = np.arange(3)
    array = GrowingArray(values)
    array.replace(values)
    values[0] = 9
    assert array.view[0] == 0
