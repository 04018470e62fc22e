import numpy as np
import pytest

from clearwatt.experiment.trial import measured_rmse, round_daily, score_component

ZEROS = np.zeros(4)


def test_a_score_counts_up_to_the_last_update_and_against_the_first_model():
    score = score_component(
        [ZEROS, ZEROS],
        [np.full(4, 0.3), np.array([1.0, 1.0, 9.0, 9.0])],
        initial=np.full(4, 0.2),
        steps=[2, 1],
    )
    assert score.fitting_error == pytest.approx(1.0)
    assert score.forgetting_ratio == pytest.approx(0.5)
    assert score.updates == 2
    assert score.prediction_error is None


def test_what_was_not_measured_has_no_score():
    nothing = np.full(4, np.nan)
    score = score_component([nothing, nothing], [ZEROS, ZEROS], initial=ZEROS, steps=[])
    assert (score.fitting_error, score.forgetting_ratio, score.updates) == (None, None, 0)
    assert measured_rmse(nothing, ZEROS) is None
    assert measured_rmse(ZEROS, np.full(4, 2.0)) == pytest.approx(2.0)


def test_an_error_that_is_not_finite_is_none():
    assert measured_rmse(ZEROS, np.full(4, np.inf)) is None


def test_daily_errors_have_six_digits():
    assert round_daily(np.array([0.123456789, np.nan, 12.0])) == (0.123457, None, 12.0)
