"""What forecasts are made with at a moment."""

import numpy as np

from clearwatt.adaptive import AdaptiveForecaster


def test_what_some_entities_are_forecast_with_forecasts_them_alike(small):
    x, y, at = small.stream(50)
    forecaster = small.started(x, y, at)
    known = slice(small.WARMUP, 45 * small.DAY)
    forecaster.observe(x[known], y[known], at[known])
    whole = forecaster.deployed
    ahead = slice(45 * small.DAY, 46 * small.DAY)
    for place in (0, 1):
        own = whole.select([place])
        assert own.names == (whole.names[place],)
        np.testing.assert_allclose(
            own.forecast(x[ahead], at[ahead]).power[:, 0],
            whole.forecast(x[ahead], at[ahead]).power[:, place],
            rtol=1e-6,
        )
        np.testing.assert_allclose(
            own.networks(x, at)[:, 0], whole.networks(x, at)[:, place], rtol=1e-4, atol=1e-6
        )
        again = type(own).unpack(own.pack())
        np.testing.assert_array_equal(again.networks(x, at), own.networks(x, at))


def test_what_has_just_been_measured_moves_the_next_hours_but_not_tomorrow(small):
    x, y, at = small.stream(60)
    noise, lasting = np.random.default_rng(3).normal(size=y.shape), np.zeros_like(y)
    for step in range(1, len(y)):
        lasting[step] = 0.85 * lasting[step - 1] + 0.2 * noise[step]
    y += lasting
    forecaster, now = small.started(x, y, at), 58 * small.DAY
    known, hour = slice(small.WARMUP, now), slice(now, now + 1)
    forecaster.observe(x[known], y[known], at[known])
    other = AdaptiveForecaster.unpack(forecaster.pack())
    forecaster.observe(x[hour], y[hour], at[hour])
    other.observe(x[hour], y[hour] + [[1.0, 0.0]], at[hour])
    ahead = slice(now + 1, now + 2 * small.DAY)
    usual, high = (each.deployed.forecast(x[ahead], at[ahead]) for each in (forecaster, other))
    moved = high.power - usual.power
    assert moved[0, 0] > 0.3
    assert abs(moved[11, 0]) < 0.3 * moved[0, 0]
    # The same hour of tomorrow knows the measurement as the same hour of the day before.
    assert (moved[small.DAY :, 0] == 0).all()
    assert (moved[:, 1] == 0).all()
    assert (high.spread[0] < high.spread[11]).all()
    assert (high.spread[small.DAY - 1 :] == 1).all()
    np.testing.assert_array_equal(high.power[small.DAY - 1 :], high.day_ahead[small.DAY - 1 :])


def test_steps_that_have_passed_are_forecast_as_a_day_ahead(small):
    x, y, at = small.stream(50)
    forecaster = small.started(x, y, at)
    known = slice(small.WARMUP, 45 * small.DAY)
    y[44 * small.DAY :] += 1.0
    forecaster.observe(x[known], y[known], at[known])
    past = slice(43 * small.DAY, 45 * small.DAY)
    forecast = forecaster.deployed.forecast(x[past], at[past])
    np.testing.assert_array_equal(forecast.power, forecast.day_ahead)
    assert (forecast.spread == 1).all()
