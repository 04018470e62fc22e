from dataclasses import replace

import numpy as np
import pytest

from clearwatt.benchmark.peers.lightgbm import LightGBM, lagged_inputs

pytest.importorskip("lightgbm")


def error(forecasts, history, steps: slice) -> float:
    wanted = history.measured[history.first :][steps, 0]
    return float(np.sqrt(np.mean(np.square(forecasts.power[steps, 0] - wanted))))


@pytest.fixture(scope="module")
def farm(coast):
    return coast.select_entities([0])


def test_training_anew_follows_a_farm_that_grows_and_a_frozen_model_does_not(farm):
    after = slice(500, None)
    frozen = error(LightGBM("frozen").forecast(farm), farm, after)
    assert error(LightGBM("everything").forecast(farm), farm, after) < frozen
    assert error(LightGBM("window", window=150).forecast(farm), farm, after) < 0.5 * frozen


def test_trainings_and_what_is_held_are_told(farm):
    weeks = -(-farm.steps // (7 * 24))
    frozen, everything, window = (
        LightGBM(past, window=100).forecast(farm).costs[0]
        for past in ("frozen", "everything", "window")
    )
    assert (frozen.trainings, everything.trainings, window.trainings) == (1, weeks, weeks)
    assert (frozen.held_bytes, window.held_bytes) == (0, 100 * farm.sample_bytes)
    assert everything.held_bytes > 500 * farm.sample_bytes


def test_lagged_inputs_are_what_was_known_when_each_step_was_forecast(hills):
    found = lagged_inputs(hills, 0)
    width = hills.x.shape[1]
    power = dict(zip(hills.at.tolist(), hills.measured[:, 0].tolist(), strict=True))
    for row in (200, 460, 700):
        at = int(hills.at[row])
        lags = [power.get(at - days * 24, np.nan) for days in (1, 2, 7)]
        last_day = np.nanmean([power.get(at - 24 - hour, np.nan) for hour in range(24)])
        np.testing.assert_allclose(found[row, width : width + 4], [*lags, last_day], rtol=1e-5)
        three = (hills.at > at - 3) & (hills.at <= at)
        assert found[row, width + 4] == pytest.approx(hills.x[three, 0].mean(), rel=1e-5)
    np.testing.assert_array_equal(found[:, :width], hills.x)


def test_with_a_longer_delay_the_first_whole_days_known_are_the_lags(coast):
    late = replace(coast, delay=36)
    width = late.x.shape[1]
    found = lagged_inputs(late, 0)[400, width : width + 3]
    np.testing.assert_array_equal(found, late.measured[[400 - 48, 400 - 72, 400 - 168], 0])


def test_with_lagged_power_it_follows_a_level_that_the_weather_does_not_explain(farm):
    days = np.random.default_rng(0).normal(size=len(farm.x) // 24 + 1).cumsum()
    level = days[farm.at // 24].astype(np.float32)
    wandering = replace(farm, measured=level[:, None])
    plain, lags = (
        error(LightGBM("everything", lags=lags).forecast(wandering), wandering, slice(None))
        for lags in (False, True)
    )
    assert lags < 0.9 * plain


def test_two_runs_are_the_same(farm):
    first, second = (LightGBM("window").forecast(farm).power for _ in range(2))
    np.testing.assert_array_equal(first, second)
