"""Forecasts by lead of a stream: as they were issued, and with nothing measured later."""

import numpy as np
import pytest

from clearwatt.adaptive import AdaptiveForecaster, AdaptiveSettings, NetworkSettings
from clearwatt.training.fleet import Training
from clearwatt.training.streams import drive

DAY, DAYS = 24, 24
AT = np.arange(DAYS * DAY)
DISTANCES = (1, 6, DAY, 2 * DAY)


def stream():
    """Inputs and power of two entities, whose deviations last for hours."""
    rng = np.random.default_rng(2)
    x = np.concatenate([np.sin(AT[:, None] / [7.3, 31.0]), np.zeros((len(AT), 10))], axis=1)
    noise = rng.normal(0, 0.1, (len(AT), 2))
    lasting = np.zeros_like(noise)
    for step in AT[1:]:
        lasting[step] = 0.95 * lasting[step - 1] + noise[step]
    return x, np.stack([x[:, 0], x[:, 1] ** 2], axis=1) + lasting


def forecaster(x, y):
    networks = NetworkSettings(width=8, members=1, warm_up=Training(epochs=2, patience=None))
    settings = AdaptiveSettings(memory=600, networks=networks)
    first = slice(10 * DAY)
    return AdaptiveForecaster.fit(x[first], y[first], AT[first], day=DAY, settings=settings)


def learn(own, x, y, *, start, end):
    """Forecasts by lead of the days that end from one step to another."""
    days = slice(start, end)
    periods = drive(
        own.learn_periods(x[days], y[days], AT[days], after=start - 1, distances=DISTANCES)
    )
    return [each.leads for each in periods if each.leads is not None]


@pytest.fixture(scope="module")
def followed():
    x, y = stream()
    own = forecaster(x, y)
    return x, y, learn(own, x, y, start=10 * DAY, end=20 * DAY + 1)


def test_each_day_is_forecast_once_for_each_distance(followed):
    _, _, found = followed
    at = np.concatenate([each.at for each in found])
    np.testing.assert_array_equal(at, AT[10 * DAY : 20 * DAY])
    assert all(each.power.shape == (4, len(each.at), 2) for each in found)


def test_errors_grow_with_the_distance_up_to_those_a_delay_ahead(followed):
    _, y, found = followed
    last = found[5:]
    measured = np.concatenate([y[each.at] for each in last])
    power = np.concatenate([each.power for each in last], axis=1)
    near, hours, day, _ = np.sqrt(((power - measured) ** 2).mean(axis=(1, 2)))
    assert near < 0.6 * day
    assert near < hours < 1.05 * day
    for each in last:
        np.testing.assert_array_equal(each.power[2], each.day_ahead)
        assert (each.spread[2] == 1).all()
        assert np.isnan(each.power[3]).all()  # issued a delay ahead at the earliest


def test_the_spread_is_the_one_that_was_published():
    x, y = stream()
    own, published = forecaster(x, y), {}
    for step in range(10 * DAY, 15 * DAY):
        own.observe(x[[step]], y[[step]], AT[[step]])
        ahead = AT[step + 1 : step + 7]
        spread = own.deployed.forecast(x[ahead], ahead).spread
        published[step + 1], published[step + 6, "far"] = spread[0], spread[5]
    again = forecaster(x, y)
    day = learn(again, x, y, start=10 * DAY, end=14 * DAY + 1)[-1]
    for row, step in enumerate(day.at.tolist()):
        np.testing.assert_allclose(day.spread[0, row], published[step])
        np.testing.assert_allclose(day.spread[1, row], published[step, "far"])


def test_what_is_measured_later_changes_nothing(followed):
    x, y, found = followed
    noisy, late = y.copy(), 20 * DAY - 10
    noisy[late:] += 5.0
    own = forecaster(x, y)
    day = learn(own, x, noisy, start=10 * DAY, end=20 * DAY + 1)[-1]
    known = found[-1]
    for place, distance in enumerate(DISTANCES[:3]):
        same = known.at - distance < late
        np.testing.assert_array_equal(day.power[place, same], known.power[place, same])
    assert (day.power[0, -1] != known.power[0, -1]).all()
