"""The forecaster as its users see it: honest in time, bounded, repeatable, quick to adapt."""

import numpy as np
import pytest

from clearwatt.adaptive import AdaptiveForecaster, AdaptiveSettings, FastSettings
from clearwatt.errors import ConfigurationError, DataError, StateError


def rmse(forecasts, measured):
    return float(np.sqrt(np.nanmean((forecasts - measured) ** 2)))


def gappy(small, x, y, at):
    """Without a day and a half of inputs, and without some measurements."""
    y = y.copy()
    start = small.WARMUP
    y[start + 70 : start + 90, 0] = np.nan
    kept = (at < start + 100) | (at >= start + 137)
    return x[kept], y[kept], at[kept]


@pytest.mark.parametrize("delay", [24, 5, 40])
def test_live_forecasts_are_those_of_deployed_step_by_step(small, delay):
    x, y, at = gappy(small, *small.stream(52))
    start = small.WARMUP
    whole = small.started(x, y, at, delay=delay).live(x[start:], y[start:], at[start:])

    single, found, known = small.started(x, y, at, delay=delay), [], start
    for row in range(start, len(at)):
        last = int(np.searchsorted(at, at[row] - delay, side="right"))
        if last > known:
            single.observe(x[known:last], y[known:last], at[known:last])
            known = last
        # Inputs since the last row that is known: the networks see averages over past hours.
        ahead = slice(min(known, row), row + 1)
        found.append(single.deployed.forecast(x[ahead], at[ahead]).power[-1])
    np.testing.assert_allclose(whole, found, rtol=1e-4, atol=1e-4)
    assert single.trainings.sum() > 0


@pytest.mark.parametrize("days", [6, 16, 30])
def test_a_long_gap_loses_no_live_forecast(small, days):
    """Rows before a gap of more than two weeks are retired in the moment that they are learned."""
    x, y, at = small.stream(80)
    start = small.WARMUP
    kept = (at < start + 100) | (at >= start + 100 + 24 * days)
    x, y, at = x[kept], y[kept], at[kept]
    parts = small.started(x, y, at).follow(x[start:], y[start:], at[start:])
    steps = np.concatenate([forecast.at for forecast, _ in parts])
    np.testing.assert_array_equal(steps, at[start:])


def test_a_live_forecast_knows_nothing_measured_within_the_delay(small):
    x, y, at = small.stream(56)
    start = small.WARMUP
    changed, cut = y.copy(), start + 200
    changed[cut:] += 3
    a, b = (
        small.started(x, power, at).live(x[start:], power[start:], at[start:])
        for power in (y, changed)
    )
    known = cut + small.DAY - start
    np.testing.assert_array_equal(a[:known], b[:known])
    assert not np.allclose(a[known:], b[known:])


def test_a_forecast_knows_no_inputs_of_later_steps(small):
    x, y, at = small.stream(44)
    changed, rest = x.copy(), slice(small.WARMUP, None)
    changed[small.WARMUP + 50 :] += 1
    deployed = small.started(x, y, at).deployed
    a, b = (deployed.forecast(i[rest], at[rest]).power for i in (x, changed))
    np.testing.assert_allclose(a[:50], b[:50], atol=1e-6)
    assert not np.allclose(a[50:], b[50:])


def test_equal_seeds_forecast_alike_and_others_do_not(small):
    x, y, at = small.stream(50)
    rest = slice(small.WARMUP, None)
    a, b, c = (small.started(x, y, at, seed=s).live(x[rest], y[rest], at[rest]) for s in (1, 1, 2))
    np.testing.assert_array_equal(a, b)
    assert not np.array_equal(a, c)


def test_what_is_allowed_to_be_held_is_used(small):
    x, y, at = small.stream(100)
    forecaster, rest = small.started(x, y, at), slice(small.WARMUP, None)
    forecaster.observe(x[rest], y[rest], at[rest])
    assert small.SETTINGS.memory - 3 * small.DAY < forecaster.held_samples <= small.SETTINGS.memory


def test_it_learns_the_weather_and_follows_a_jump_within_days(small):
    x, y, at = small.stream(90)
    start, day = small.WARMUP, small.DAY
    y[start + 600 :, 0] = 3 * y[start + 600 :, 0] + 2
    forecasts = small.started(x, y, at).live(x[start:], y[start:], at[start:])
    live = y[start:]
    assert rmse(forecasts[300:600], live[300:600]) < 0.7 * live[300:600].std()
    at_the_jump = rmse(forecasts[600:624, 0], live[600:624, 0])
    days_later = slice(600 + 4 * day, 600 + 9 * day)
    assert rmse(forecasts[days_later, 0], live[days_later, 0]) < 0.5 * at_the_jump
    # The other entity did not jump, and does not suffer.
    assert rmse(forecasts[600:, 1], live[600:, 1]) < 1.2 * rmse(
        forecasts[300:600, 1], live[300:600, 1]
    )


def test_a_step_can_be_forecast_again_with_newer_inputs(small):
    x, y, at = small.stream(42)
    deployed, rest = small.started(x, y, at).deployed, slice(small.WARMUP, None)
    first = deployed.forecast(x[rest], at[rest]).power
    assert not np.allclose(first, deployed.forecast(x[rest] + 0.3, at[rest]).power)


def test_readings_that_come_late_improve_the_forecast(small):
    x, y, at = small.stream(60)
    start, day = small.WARMUP, small.DAY
    y[start:, 0] += 2
    early, late = slice(start, start + 4 * day), slice(start + 4 * day, start + 5 * day)
    first = slice(late.start, late.start + 1)  # it ends the period before
    errors = []
    for arrive in (False, True):
        forecaster = small.started(x, y, at)
        forecaster.observe(x[early], np.full_like(y[early], np.nan), at[early])
        if arrive:
            forecaster.observe(x[early], y[early], at[early])
        forecaster.observe(x[first], np.full_like(y[first], np.nan), at[first])
        power = forecaster.deployed.forecast(x[late], at[late]).power
        errors.append(rmse(power[:, 0], y[late, 0]))
    assert errors[1] < 0.9 * errors[0]


def test_a_reading_older_than_the_last_days_completes_the_row_that_is_held(small):
    x, y, at = small.stream(60)
    hole, rest = y.copy(), slice(small.WARMUP, None)
    hole[small.WARMUP + 48 : small.WARMUP + 72, 1] = np.nan
    forecaster = small.started(x, y, at)
    forecaster.observe(x[rest], hole[rest], at[rest])
    held = forecaster.state.reservoir
    row = int(np.flatnonzero(np.isnan(held.y[:, 1]))[0])
    step = int(held.at[row])
    forecaster.observe(x[[step]], y[[step]], at[[step]])
    expected = forecaster.state.power.apply(y[[step]])[0, 1]
    assert forecaster.state.reservoir.y[row, 1] == pytest.approx(expected)
    assert forecaster.forget([step]) == 2
    assert np.isnan(forecaster.state.reservoir.y[row]).all()


def test_what_cannot_be_used_is_refused_by_name(small):
    x, y, at = small.stream(42)
    forecaster = small.started(x, y, at, names=("park", "mill"))
    with pytest.raises(DataError, match="step 970 comes after step 971"):
        forecaster.deployed.forecast(x[:2], [971, 970])
    with pytest.raises(DataError, match="n x entities"):
        AdaptiveForecaster.fit(x, y[:, 0], at, day=small.DAY)
    with pytest.raises(ConfigurationError, match="memory is 100"):
        small.started(x, y, at, settings=AdaptiveSettings(memory=100))
    with pytest.raises(DataError, match="entity 1 has no measurement"):
        small.started(x, y * [1, np.nan], at)
    with pytest.raises(DataError, match="no entity 'farm'"):
        forecaster.forget([1], ["farm"])
    with pytest.raises(DataError, match="must be finite"):
        forecaster.correct(1, "park", float("nan"))
    with pytest.raises(DataError, match="'park' already"):
        forecaster.add("park", x, y[:, 0], at)
    with pytest.raises(StateError, match="no version"):
        forecaster.activate(small.started(x, y, at).versions[0])


def test_a_correction_alone_is_a_setting(small):
    x, y, at = small.stream(45)
    fast = FastSettings(corrections=FastSettings().corrections[:1], every=24)
    one = AdaptiveSettings(memory=600, networks=small.SETTINGS.networks, fast=fast)
    forecaster, start = small.started(x, y, at, settings=one), small.WARMUP
    assert forecaster.live(x[start:], y[start:], at[start:]).shape == (5 * small.DAY, 2)


def test_a_reading_corrected_or_excluded_in_time_leaves_no_trace(small):
    x, y, at = small.stream(50)
    start, step = small.WARMUP, small.WARMUP + 75
    rows = slice(start, step + 1)
    wrong, missing = y.copy(), y.copy()
    wrong[step, 0] += 1.0
    missing[step, 0] = np.nan
    right, corrected, excluded, never = (small.started(x, y, at) for _ in range(4))
    for forecaster, power in ((right, y), (corrected, wrong), (excluded, y), (never, missing)):
        forecaster.observe(x[rows], power[rows], at[rows])
    corrected.correct(step, 0, float(np.float32(y[step, 0])))
    excluded.forget([step], [0])
    assert corrected.digest() == right.digest()
    assert excluded.digest() == never.digest()
