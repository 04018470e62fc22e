import numpy as np
import pytest

from clearwatt.benchmark.peers.lightgbm import LightGBM

pytest.importorskip("lightgbm")


def error(forecasts, history, steps: slice) -> float:
    wanted = history.measured[history.first :][steps, 0]
    return float(np.sqrt(np.mean(np.square(forecasts.power[steps, 0] - wanted))))


@pytest.fixture(scope="module")
def farm(coast):
    return coast.only([0])


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


def test_two_runs_are_the_same(farm):
    first, second = (LightGBM("window").forecast(farm).power for _ in range(2))
    np.testing.assert_array_equal(first, second)
