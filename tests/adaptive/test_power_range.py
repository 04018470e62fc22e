import numpy as np

from clearwatt.adaptive.power_range import PowerRange

NAN = np.nan


def begun(*columns):
    return PowerRange.of(np.array(columns, dtype=float).T)


def test_a_reading_far_outside_counts_as_one_its_width_away():
    limits = begun([0, 2, NAN], [-1, 1, 0])
    np.testing.assert_array_equal(
        limits.limit_outliers(np.array([[1e6, -1e6], [3.5, NAN], [-0.5, 0.5]])),
        [[4.0, -3.0], [3.5, NAN], [-0.5, 0.5]],
    )


def test_what_never_changed_may_change_by_any_amount():
    limits = begun([5, 5, 5])
    assert limits.limit_outliers(np.array([[500.0]])) == 500.0
    limits = limits.widen(np.array([[500.0], [400.0]]))
    assert limits.clip(np.array([[1e9]])) == 400.0


def test_a_single_wild_reading_among_several_does_not_widen_it():
    limits = begun([0, 1], [0, 1])
    limits = limits.widen(np.array([[9.0, 0.5], [0.2, NAN], [0.3, -7.0], [0.4, 0.1]]))
    assert (limits.low.tolist(), limits.high.tolist()) == ([0.0, 0.0], [1.0, 1.0])
    limits = limits.widen(np.array([[9.0, -7.0], [8.0, -6.0]]))
    assert (limits.low.tolist(), limits.high.tolist()) == ([0.0, -6.0], [8.0, 1.0])


def test_the_only_reading_of_an_entity_does_or_it_would_never_grow():
    limits = begun([0, 1], [0, 1])
    limits = limits.widen(np.array([[2.0, NAN], [NAN, NAN]]))
    assert (limits.low.tolist(), limits.high.tolist()) == ([0.0, 0.0], [2.0, 1.0])


def test_nothing_measured_changes_nothing():
    limits = begun([0, 1])
    limits = limits.widen(np.empty((0, 1)))
    assert (limits.low.tolist(), limits.high.tolist()) == ([0.0], [1.0])
