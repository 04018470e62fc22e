"""Forecasts by lead: what has just been measured moves the next hours, hardly the next days."""

import numpy as np
import pytest
from tests.benchmark.competition.wind_task import wind_task
from threadpoolctl import threadpool_limits

from clearwatt.adaptive.leads import LeadForecaster, LeadSettings
from clearwatt.errors import ConfigurationError, DataError

SETTINGS = LeadSettings(landmarks=150, features=80)


@pytest.fixture(autouse=True)
def one_thread():
    with threadpool_limits(1):
        yield


@pytest.fixture(scope="module")
def task():
    return wind_task(days=60)


def forecast_at(task, issues):
    """The last forecast of a forecaster that learns at some steps."""
    forecaster = LeadForecaster(SETTINGS)
    for issue in issues:
        known = task.known_at(int(issue))
        forecaster.learn(known.measured, known.runs)
    return forecaster, forecaster.forecast(known.measured, known.runs)


def test_readings_that_are_off_move_the_next_hours_and_hardly_tomorrow(task):
    known = task.known_at(int(task.issues[0]))
    forecaster, plain = forecast_at(task, task.issues[:1])
    other = known.measured.copy()
    other[-3:] += np.where(other[-1] > 0.5, -0.3, 0.3)
    moved = np.abs(forecaster.forecast(other, known.runs) - plain).mean(axis=1)
    assert moved[0] > 0.03
    assert moved[24:].max() < 0.2 * moved[0]


def test_short_leads_are_better_than_without_the_last_measurements(task):
    forecaster, _ = forecast_at(task, task.issues[:1])

    def error(block, *, blind):
        known = task.known_at(int(task.issues[block]))
        measured = known.measured.copy()
        if blind:
            measured[-24:] = np.nan
        power = forecaster.forecast(measured, known.runs)
        return np.square(power - task.solution[block])[:6].mean()

    blocks = range(len(task.issues))
    informed, blind = (sum(error(block, blind=each) for block in blocks) for each in (False, True))
    assert informed < 0.8 * blind


def test_learning_at_every_block_equals_learning_at_once(task):
    # The first call chooses features, so both begin with the same warm-up.
    _, often = forecast_at(task, task.issues)
    _, once = forecast_at(task, task.issues[[0, -1]])
    np.testing.assert_allclose(often, once, atol=1e-4)


def test_the_state_does_not_grow(task):
    def size(forecaster):
        return [model.regression.moments.shape for model in forecaster.models]

    first, _ = forecast_at(task, task.issues[:1])
    last, _ = forecast_at(task, task.issues)
    assert size(first) == size(last)


def test_forecasts_stay_within_what_was_measured(task):
    known = task.known_at(int(task.issues[0]))
    forecaster, _ = forecast_at(task, task.issues[:1])
    storm = known.runs.values.copy()
    storm[-1] *= 5
    power = forecaster.forecast(known.measured, known.runs._replace(values=storm))
    assert power.min() >= 0
    assert power.max() <= 1


def test_mistakes_are_named(task):
    with pytest.raises(ConfigurationError, match="ridge is 0"):
        LeadSettings(ridge=0)
    with pytest.raises(ConfigurationError, match="half_life is -1"):
        LeadSettings(half_life=-1)
    known = task.known_at(100)
    with pytest.raises(DataError, match="place 0"):
        LeadForecaster().learn(np.full_like(known.measured, np.nan), known.runs)
