"""The two error signals, the threshold, and the sample that fills the buffer."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearwatt.clear import detection
from clearwatt.errors import ConfigurationError


def test_reconstruction_error_is_the_root_mean_square_over_features():
    x = np.array([[0, 0], [1, 1]], np.float32)
    found = detection.reconstruction_errors(x, np.array([[3, 4], [1, 2]], np.float32))
    assert found == pytest.approx([np.sqrt(12.5), np.sqrt(0.5)])


def test_prediction_error_is_absolute():
    y, forecast = np.array([1, 2], np.float32), np.array([3, 1.5], np.float32)
    assert detection.prediction_errors(y, forecast).tolist() == [2.0, 0.5]


def test_threshold_is_alpha_times_the_mean_error():
    assert detection.threshold(np.array([1, 2, 6], np.float32), 1.5) == pytest.approx(4.5)


@pytest.mark.parametrize("alpha", [0, -1.0, float("nan")])
def test_threshold_refuses_a_factor_that_is_not_positive(alpha):
    with pytest.raises(ConfigurationError, match=f"alpha is {alpha}.*above 0"):
        detection.threshold(np.ones(3, np.float32), alpha)


def test_an_error_at_the_threshold_is_familiar():
    errors = np.array([0.5, 1.0, 1.5], np.float32)
    assert detection.is_novel(errors, 1.0).tolist() == [False, False, True]


def test_an_error_that_is_not_a_number_is_novel():
    errors = np.array([np.nan, np.inf, 0.5], np.float32)
    assert detection.is_novel(errors, 1.0).tolist() == [True, True, False]


def test_a_threshold_beyond_single_precision_lets_everything_finite_pass():
    errors = np.array([np.inf, np.finfo(np.float32).max, 0], np.float32)
    assert detection.is_novel(errors, 1e300).tolist() == [True, False, False]


@given(st.lists(st.booleans(), max_size=60), st.integers(1, 20))
def test_run_to_trigger_stops_where_counting_would(novel, room):
    """A buffer with `room` places, filled one verdict at a time."""
    places, wanted = room, None
    for position, verdict in enumerate(novel):
        places -= verdict
        if places == 0:
            wanted = position + 1
            break
    assert detection.run_to_trigger(np.array(novel, np.bool_), room) == wanted
