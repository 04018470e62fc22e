"""Weather runs with their leads: which run forecasts which hour."""

import numpy as np
import pytest

from clearwatt.data.weather_runs import WeatherRuns


@pytest.fixture
def runs():
    """Runs every 12 steps, 48 long; the value tells run and lead: 100 * run + lead."""
    values = 100 * np.arange(5)[:, None] + np.arange(1, 49)
    return WeatherRuns(12 * np.arange(5), values[:, :, None, None].astype(np.float64))


def test_later_runs_are_cut_off(runs):
    assert runs.until(35).issued.tolist() == [0, 12, 24]
    assert runs.until(36).issued.tolist() == [0, 12, 24, 36]


def test_neighbouring_steps_come_from_the_same_run_and_before_it_from_the_newest(runs):
    before = runs.shifted(np.array([2]), -3)[0, :, 0, 0]
    assert before[:3].tolist() == [110, 111, 112]
    assert before[3:].tolist() == list(range(201, 246))
    after = runs.shifted(np.array([2]), 2)[0, :, 0, 0]
    assert after[:46].tolist() == list(range(203, 249))
    assert np.isnan(after[46:]).all()


def test_an_earlier_run_forecasts_the_same_steps_with_a_longer_lead(runs):
    found = runs.earlier(np.array([1, 3]), 1)[:, :, 0, 0]
    assert found[0, :36].tolist() == list(range(13, 49))
    assert found[1, :36].tolist() == list(range(213, 249))
    assert np.isnan(found[:, 36:]).all()


def test_nothing_comes_from_before_the_first_run(runs):
    assert np.isnan(runs.earlier(np.array([0]), 1)).all()
    assert np.isnan(runs.shifted(np.array([0]), -1)[0, 0]).all()
