import numpy as np

from clearwatt.adaptive.span import Span

NAN = np.nan


def begun(*columns):
    span = Span(len(columns))
    span.begin(np.array(columns, dtype=float).T)
    return span


def test_a_reading_far_outside_counts_as_one_its_width_away():
    span = begun([0, 2, NAN], [-1, 1, 0])
    np.testing.assert_array_equal(
        span.believed(np.array([[1e6, -1e6], [3.5, NAN], [-0.5, 0.5]])),
        [[4.0, -3.0], [3.5, NAN], [-0.5, 0.5]],
    )


def test_what_never_changed_may_change_by_any_amount():
    span = begun([5, 5, 5])
    assert span.believed(np.array([[500.0]])) == 500.0
    span.widen(np.array([[500.0], [400.0]]))
    assert span.clip(np.array([[1e9]])) == 400.0


def test_a_single_wild_reading_among_several_does_not_widen_it():
    span = begun([0, 1], [0, 1])
    span.widen(np.array([[9.0, 0.5], [0.2, NAN], [0.3, -7.0], [0.4, 0.1]]))
    assert (span.low.tolist(), span.high.tolist()) == ([0.0, 0.0], [1.0, 1.0])
    span.widen(np.array([[9.0, -7.0], [8.0, -6.0]]))
    assert (span.low.tolist(), span.high.tolist()) == ([0.0, -6.0], [8.0, 1.0])


def test_the_only_reading_of_an_entity_does_or_it_would_never_grow():
    span = begun([0, 1], [0, 1])
    span.widen(np.array([[2.0, NAN], [NAN, NAN]]))
    assert (span.low.tolist(), span.high.tolist()) == ([0.0, 0.0], [2.0, 1.0])


def test_nothing_measured_changes_nothing():
    span = begun([0, 1])
    span.widen(np.empty((0, 1)))
    assert (span.low.tolist(), span.high.tolist()) == ([0.0], [1.0])
