"""The forecaster as its users see it: honest in time, bounded, repeatable, quick to adapt."""

import numpy as np
import pytest

from clearwatt.adaptive import AdaptiveForecaster, Fast, Settings, Slow
from clearwatt.data.features import CALENDAR_COLUMNS
from clearwatt.errors import ConfigurationError, DataError
from clearwatt.training.fleet import Training

DAY = 24
WARMUP = 40 * DAY
SMALL = Settings(
    memory=600,
    slow=Slow(
        width=8,
        members=1,
        warm_up=Training(epochs=8, patience=None),
        update=Training(epochs=1, patience=None),
    ),
)


def stream(days, *, seed=0):
    """Inputs (two of weather, then the calendar), power of two entities, and steps."""
    rng = np.random.default_rng(seed)
    at = np.arange(days * DAY)
    weather = np.sin(at[:, None] / [7.3, 31.0]) + 0.2 * rng.normal(size=(len(at), 2))
    hour = 2 * np.pi * at / DAY
    calendar = np.zeros((len(at), len(CALENDAR_COLUMNS)))
    calendar[:, 0], calendar[:, 1] = np.sin(hour), np.cos(hour)
    calendar[:, 8] = np.sin(hour / 365)
    x = np.concatenate([weather, calendar], axis=1)
    power = np.stack([weather[:, 0] ** 2, 1 + np.sin(hour) * weather[:, 1]], axis=1)
    return x, power + 0.05 * rng.normal(size=power.shape), at


def started(x, y, at, **options):
    options = {"day": DAY, "settings": SMALL} | options
    return AdaptiveForecaster.fit(x[:WARMUP], y[:WARMUP], at[:WARMUP], **options)


def rmse(forecasts, measured):
    return float(np.sqrt(np.nanmean((forecasts - measured) ** 2)))


def gappy(x, y, at):
    """Without a day and a half of inputs, and without some measurements."""
    y = y.copy()
    y[WARMUP + 70 : WARMUP + 90, 0] = np.nan
    kept = (at < WARMUP + 100) | (at >= WARMUP + 137)
    return x[kept], y[kept], at[kept]


@pytest.mark.parametrize("delay", [DAY, 5, 40])
def test_a_stream_in_one_go_equals_step_by_step(delay):
    x, y, at = gappy(*stream(52))
    whole = started(x, y, at, delay=delay).live(x[WARMUP:], y[WARMUP:], at[WARMUP:])

    single, found, observed = started(x, y, at, delay=delay), [], WARMUP
    for row in range(WARMUP, len(at)):
        while observed < row and at[observed] <= at[row] - delay:
            single.observe(y[[observed]], at[[observed]])
            observed += 1
        found.append(single.forecast(x[[row]], at[[row]])[0])
    np.testing.assert_allclose(whole, found, rtol=1e-4, atol=1e-4)
    assert single.trainings > 0


def test_a_forecast_knows_nothing_measured_within_the_delay():
    x, y, at = stream(56)
    changed, cut = y.copy(), WARMUP + 200
    changed[cut:] += 3
    a, b = (
        started(x, power, at).live(x[WARMUP:], power[WARMUP:], at[WARMUP:])
        for power in (y, changed)
    )
    known = cut + DAY - WARMUP
    np.testing.assert_array_equal(a[:known], b[:known])
    assert not np.allclose(a[known:], b[known:])


def test_a_forecast_knows_no_inputs_of_later_steps():
    x, y, at = stream(44)
    changed = x.copy()
    changed[WARMUP + 50 :] += 1
    a, b = (started(x, y, at).forecast(i[WARMUP:], at[WARMUP:]) for i in (x, changed))
    np.testing.assert_allclose(a[:50], b[:50], atol=1e-6)


def test_equal_seeds_forecast_alike_and_others_do_not():
    x, y, at = stream(50)
    rest = slice(WARMUP, None)
    a, b, c = (started(x, y, at, seed=s).live(x[rest], y[rest], at[rest]) for s in (1, 1, 2))
    np.testing.assert_array_equal(a, b)
    assert not np.array_equal(a, c)


def test_no_more_of_the_past_is_held_than_allowed():
    x, y, at = stream(100)
    forecaster = started(x, y, at)
    held = []
    for start in range(WARMUP, len(at), 7 * DAY):
        rows = slice(start, start + 7 * DAY)
        forecaster.live(x[rows], y[rows], at[rows])
        held.append(forecaster.held)
    assert max(held) <= SMALL.memory
    assert held[-1] > SMALL.memory - 3 * DAY  # and what is allowed is used


def test_it_learns_the_weather_and_follows_a_jump_within_days():
    x, y, at = stream(90)
    y[WARMUP + 600 :, 0] = 3 * y[WARMUP + 600 :, 0] + 2
    forecasts = started(x, y, at).live(x[WARMUP:], y[WARMUP:], at[WARMUP:])
    live = y[WARMUP:]
    assert rmse(forecasts[300:600], live[300:600]) < 0.7 * live[300:600].std()
    at_the_jump = rmse(forecasts[600:624, 0], live[600:624, 0])
    days_later = rmse(
        forecasts[600 + 4 * DAY : 600 + 9 * DAY, 0], live[600 + 4 * DAY : 600 + 9 * DAY, 0]
    )
    assert days_later < 0.5 * at_the_jump
    # The other entity did not jump, and does not suffer.
    assert rmse(forecasts[600:, 1], live[600:, 1]) < 1.2 * rmse(
        forecasts[300:600, 1], live[300:600, 1]
    )


def test_a_step_can_be_forecast_again_with_newer_inputs():
    x, y, at = stream(42)
    forecaster, rest = started(x, y, at), slice(WARMUP, None)
    first = forecaster.forecast(x[rest], at[rest])
    second = forecaster.forecast(x[rest] + 0.3, at[rest])
    assert not np.allclose(first, second)
    np.testing.assert_allclose(forecaster.forecast(x[rest], at[rest]), first, atol=1e-6)


def test_measurements_that_come_late_are_learned_from():
    x, y, at = stream(60)
    y[WARMUP:, 0] += 2
    early, late = slice(WARMUP, WARMUP + 4 * DAY), slice(WARMUP + 4 * DAY, WARMUP + 5 * DAY)
    errors = []
    for observed in (False, True):
        forecaster = started(x, y, at)
        forecaster.forecast(x[early], at[early])
        if observed:
            forecaster.observe(y[early], at[early])
        errors.append(rmse(forecaster.forecast(x[late], at[late])[:, 0], y[late, 0]))
    assert errors[1] < 0.9 * errors[0]


def test_what_cannot_be_used_is_refused_by_name():
    x, y, at = stream(42)
    forecaster = started(x, y, at)
    with pytest.raises(DataError, match="step 2000 was never forecast"):
        forecaster.observe(y[:1], [2000])
    with pytest.raises(DataError, match="step 970 comes after step 971"):
        forecaster.forecast(x[:2], [971, 970])
    with pytest.raises(DataError, match="n x entities"):
        AdaptiveForecaster.fit(x, y[:, 0], at, day=DAY)
    with pytest.raises(ConfigurationError, match="memory is 100"):
        started(x, y, at, settings=Settings(memory=100))
    with pytest.raises(DataError, match="entity 1 has no measurement"):
        started(x, y * [1, np.nan], at)


def test_a_correction_alone_is_a_setting():
    x, y, at = stream(45)
    one = Settings(memory=600, slow=SMALL.slow, fast=Fast(speeds=Fast().speeds[:1], every=24))
    forecaster = started(x, y, at, settings=one)
    assert forecaster.live(x[WARMUP:], y[WARMUP:], at[WARMUP:]).shape == (5 * DAY, 2)
