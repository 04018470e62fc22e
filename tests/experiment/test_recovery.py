import numpy as np
import pandas as pd
import pytest

from clearwatt.data import Drift
from clearwatt.experiment.recovery import daily_rmse, recoveries

TIMES = pd.date_range("2024-01-01", periods=24 * 60, freq="h", tz="UTC")


def drift(start: int, what: str = "meter") -> Drift:
    return Drift(what, None, TIMES[0] + pd.Timedelta(hours=start), None, 1.0, "")


def steps(errors, *drifts):
    return [each.steps for each in recoveries(errors, drifts, TIMES, day=24)]


def test_daily_error_counts_what_was_measured():
    errors = np.array([3.0, np.nan, 4.0, np.nan, np.nan, np.nan, 2.0])
    np.testing.assert_allclose(daily_rmse(errors, 3), [np.sqrt(12.5), np.nan, 2.0])


def test_recovery_counts_from_the_drift_to_the_first_day_that_is_back():
    errors = np.full(len(TIMES), 0.1)
    errors[700:820] = 0.5
    assert steps(errors, drift(700)) == [120]


def test_an_error_that_never_left_is_back_at_once_and_one_that_stays_is_never():
    calm = np.full(len(TIMES), 0.1)
    assert steps(calm, drift(700)) == [0]
    lost = np.where(np.arange(len(TIMES)) < 700, 0.1, 0.16)
    assert steps(lost, drift(700)) == [None]
    near = np.where(np.arange(len(TIMES)) < 700, 0.1, 0.14)
    assert steps(near, drift(700)) == [0]


def test_the_level_is_that_of_the_two_weeks_before():
    errors = np.full(len(TIMES), 0.1)
    errors[: 700 - 14 * 24] = 5.0
    errors[700:] = 0.5
    assert steps(errors, drift(700)) == [None]


def test_drifts_in_a_time_without_measurements_are_left_out():
    errors = np.full(len(TIMES), 0.1)
    errors[300:700] = np.nan  # more than the two weeks before
    assert steps(errors, drift(700)) == []
    errors = np.full(len(TIMES), 0.1)
    errors[700:] = np.nan
    assert steps(errors, drift(700)) == []
    errors[-48:] = 0.1
    assert steps(errors, drift(700)) == [28 * 24]


@pytest.mark.parametrize("start", [-5, 10, 24 * 60])
def test_drifts_with_nothing_before_them_or_outside_are_left_out(start):
    assert steps(np.ones(len(TIMES)), drift(start)) == []
