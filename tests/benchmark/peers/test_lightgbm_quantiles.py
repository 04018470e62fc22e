import numpy as np
import pytest

from clearwatt.benchmark.peers.lightgbm_quantiles import LEVELS, LightGBMQuantiles

pytest.importorskip("lightgbm")


@pytest.fixture(scope="module")
def forecasts(coast):
    return LightGBMQuantiles(window=300).forecast(coast)


def test_quantiles_never_cross_and_the_median_is_the_forecast(forecasts):
    stacked = np.stack([forecasts.quantiles[level] for level in LEVELS])
    assert (np.diff(stacked, axis=0) >= 0).all()
    np.testing.assert_array_equal(forecasts.power, forecasts.quantiles[0.5])


def test_higher_quantiles_lie_above_more_measurements(forecasts, coast):
    wanted = coast.measured[coast.first : coast.first + 250]  # before the farm grows
    shares = [np.nanmean(wanted <= forecasts.quantiles[level][:250]) for level in (0.1, 0.5, 0.9)]
    assert shares[0] < 0.35 < shares[1] < 0.65 < shares[2]


def test_the_window_bounds_what_is_held(forecasts, coast):
    assert {cost.held_bytes for cost in forecasts.costs} == {300 * coast.sample_bytes}
