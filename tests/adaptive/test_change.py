"""A change of level: found, followed within days, and not where there is none."""

from dataclasses import replace

import numpy as np
import pytest

from clearwatt.adaptive import ChangeSettings, NetworkUpdate, PastRescaled, change
from clearwatt.adaptive.change import find_level_change, fit_factor
from clearwatt.testing.changes import (
    CHANGE,
    DAY,
    SETTINGS,
    WARM_UP,
    followed,
    live_errors,
    multiplied,
    of_kind,
    rmse,
    steady_stream,
)

WITHOUT = replace(SETTINGS, changes=None)


@pytest.mark.parametrize("factor", [3.0, 0.4])
def test_a_step_of_the_level_is_followed_within_a_week(factor):
    stream = multiplied(factor)
    start = CHANGE - WARM_UP
    errors, without = live_errors(stream), live_errors(stream, settings=WITHOUT)
    before, week = slice(start - 7 * DAY, start), slice(start + 5 * DAY, start + 12 * DAY)
    assert rmse(errors[week]) < 0.35 * rmse(without[week])
    assert rmse(errors[week]) < 1.1 * max(1.0, 3 * factor) * rmse(errors[before])
    np.testing.assert_array_equal(errors[:start], without[:start])


def test_the_event_says_since_when_and_how_much_and_an_update_follows():
    forecaster, events = followed(multiplied(3.0))
    (event,) = of_kind(events, PastRescaled)
    assert event.entity == 0
    assert abs(event.since - CHANGE) <= 2
    assert event.step <= CHANGE + 4 * DAY
    assert event.factor == pytest.approx(3.0, rel=0.05)
    assert event.error_after < 0.2 * event.error_before
    assert f"since step {event.since} readings are {event.factor:.3g} times" in event.explanation
    update = events[events.index(event) + 1]
    assert isinstance(update, NetworkUpdate)
    assert (update.trigger, update.step) == ("change", event.step)
    assert forecaster.versions[0].breaks[0].factor == event.factor
    assert not forecaster.versions[1].breaks


def test_nothing_is_found_where_nothing_changes():
    stream = steady_stream()
    _, events = followed(stream)
    assert not of_kind(events, PastRescaled)
    np.testing.assert_array_equal(live_errors(stream), live_errors(stream, settings=WITHOUT))


def test_two_odd_days_are_no_change():
    _, events = followed(multiplied(3.0, CHANGE, CHANGE + 2 * DAY))
    assert not of_kind(events, PastRescaled)


def test_a_shift_by_a_constant_is_no_change_of_scale():
    stream = steady_stream()
    stream.y[CHANGE:, 0] += 6.0
    _, events = followed(stream)
    assert not of_kind(events, PastRescaled)


def test_readings_unrelated_to_the_weather_are_no_change_of_scale():
    stream = multiplied(3.0)
    rest = stream.y[CHANGE:, 0]
    rest[:] = np.random.default_rng(0).permutation(rest)
    _, events = followed(stream)
    assert not of_kind(events, PastRescaled)


def test_few_odd_readings_hardly_move_the_factor():
    forecast = np.linspace(1, 2, 50)
    measured = 3 * forecast
    measured[[3, 20]] = 500.0
    assert fit_factor(measured, forecast) == 3.0
    assert fit_factor(measured, np.zeros(50)) == 1.0


@pytest.fixture(scope="module")
def steady():
    return followed(steady_stream(), stop=CHANGE + DAY)[0].state


@pytest.mark.parametrize("least", [1.2, 2.0])
def test_the_cheap_test_before_the_others_changes_nothing(steady, monkeypatch, least):
    rng, settings = np.random.default_rng(0), ChangeSettings(least_factor=least)
    states = [_with_factor(steady, rng) for _ in range(200)]
    found = [find_level_change(state, 0, settings) for state in states]
    saved = sum(not change._is_possible(state, 0, settings) for state in states)
    monkeypatch.setattr(change, "_is_possible", lambda *_: True)
    assert found == [find_level_change(state, 0, settings) for state in states]
    assert 20 < sum(each is not None for each in found) < 180
    assert saved > 5


def _with_factor(state, rng):
    """The state with readings of the first entity that are a noisy multiple for some days."""
    recent, (scale, mean) = state.recent, (state.power.scale[0], state.power.mean[0])
    factor, noise = np.exp(rng.normal(0, 0.8)), rng.choice([0.02, 0.1, 0.4])
    power = (recent.slow[:, 0] * scale + mean) * np.exp(noise * rng.normal(size=recent.size))
    power[recent.at >= state.boundary - rng.integers(1, 8) * DAY] *= factor
    measured = recent.measured.copy()
    measured[:, 0] = (power - mean) / scale
    return state._replace(recent=recent._replace(measured=measured))
