import json
from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import mean_absolute_error, mean_pinball_loss, root_mean_squared_error

from clearwatt.benchmark.peer import Cost, Forecasts
from clearwatt.benchmark.peers.climatology import Climatology
from clearwatt.benchmark.scores import PeerRecord, score_forecasts

PEER = Climatology()


@pytest.fixture(scope="module")
def noisy(coast):
    """Forecasts that are off by what a generator draws, with two quantiles."""
    rng = np.random.default_rng(0)
    power = np.nan_to_num(coast.measured[coast.first :]) + 0.1 * rng.normal(size=(coast.steps, 2))
    quantiles = {0.1: power - 0.1, 0.9: power + 0.1}
    return Forecasts(power, (Cost(1.0, 2, 3), Cost()), quantiles)


def test_phases_are_scored_apart(coast, noisy):
    farm, _ = score_forecasts(PEER, coast, noisy)
    wanted, cut = coast.measured[coast.first :, 0], coast.test - coast.first
    for part, score in ((slice(None, cut), farm.updating), (slice(cut, None), farm.test)):
        said = noisy.power[part, 0]
        assert score.rmse == pytest.approx(root_mean_squared_error(wanted[part], said))
        assert score.mae == pytest.approx(mean_absolute_error(wanted[part], said))
        losses = [
            mean_pinball_loss(wanted[part], each[part, 0], alpha=level)
            for level, each in noisy.quantiles.items()
        ]
        assert score.pinball == pytest.approx(np.mean(losses))


def test_a_day_is_a_day_and_the_days_make_up_the_phase(coast, noisy):
    farm, _ = score_forecasts(PEER, coast, noisy)
    assert len(farm.daily) == -(-(coast.test - coast.first) // 24)
    assert np.sqrt(np.mean(farm.daily)) == pytest.approx(farm.updating.rmse, rel=1e-4)


def test_the_test_phase_has_days_of_its_own(coast, noisy):
    farm, _ = score_forecasts(PEER, coast, noisy)
    assert len(farm.test_daily) == -(-(len(coast.at) - coast.test) // 24)
    whole = [loss for loss in farm.test_daily[:-1] if loss is not None]
    assert np.sqrt(np.mean(whole)) == pytest.approx(farm.test.rmse, rel=0.1)


def test_coverage_counts_measurements_between_both_quantiles(coast, noisy):
    wanted = np.nan_to_num(coast.measured[coast.first :])
    low, high = wanted - 0.1, wanted + 0.2
    low[::4] += 0.2  # every fourth measurement lies below the interval
    farm, town = score_forecasts(PEER, coast, replace(noisy, quantiles={0.05: low, 0.95: high}))
    assert farm.updating.coverage == pytest.approx(0.75, abs=0.01)
    assert farm.updating.width == pytest.approx(0.25, abs=0.01)
    assert town.test.coverage == pytest.approx(0.75, abs=0.02)


def test_without_quantiles_of_the_interval_there_is_no_coverage(coast, noisy):
    farm, _ = score_forecasts(PEER, coast, noisy)  # its quantiles are those of 10 % and 90 %
    assert (farm.updating.coverage, farm.updating.width) == (None, None)


def test_a_forecast_that_went_out_of_bounds_has_no_error(coast, noisy):
    power = noisy.power.copy()
    power[5, 0] = np.inf
    farm, town = score_forecasts(PEER, coast, replace(noisy, power=power))
    assert farm.updating.rmse is None
    assert farm.test.rmse is not None
    assert town.updating.rmse is not None


def test_what_was_never_measured_has_no_error(coast, noisy):
    measured = coast.measured.copy()
    measured[coast.test :, 0] = np.nan
    farm, _ = score_forecasts(PEER, replace(coast, measured=measured), noisy)
    assert (farm.test.rmse, farm.test.mae) == (None, None)


def test_a_record_survives_json(coast, noisy):
    for record in score_forecasts(PEER, coast, noisy):
        assert PeerRecord.from_dict(json.loads(json.dumps(record.to_dict()))) == record
