from dataclasses import replace

import numpy as np
import pytest
from safetensors.numpy import load, save

from clearwatt.errors import StateError
from clearwatt.intervals import Calibrator, MovedForecasts, NearQuantiles, QuantileSnapshot
from clearwatt.intervals.cells import BANDS
from clearwatt.packing import verify_checksum

DAY = 24
STEPS = np.arange(30 * DAY)
AHEAD = np.arange(1, DAY + 1)[:, None]
"""Steps from the newest measurement to each step of a day."""


@pytest.fixture
def snapshot() -> QuantileSnapshot:
    rng = np.random.default_rng(0)
    forecasts = rng.random((len(STEPS), 1))
    y = forecasts + 0.1 * rng.normal(size=forecasts.shape)
    return Calibrator.start(forecasts, y, STEPS, day=DAY, low=0.0).snapshot


def test_a_packed_snapshot_gives_the_same(snapshot):
    forecasts, steps = np.linspace(0, 1, DAY)[:, None], STEPS[:DAY]
    again = QuantileSnapshot.unpack(snapshot.pack()).quantiles(forecasts, steps)
    np.testing.assert_allclose(again, snapshot.quantiles(forecasts, steps), atol=1e-5)


def test_quantiles_lie_around_forecasts_that_know_more_and_are_as_much_narrower(snapshot):
    forecasts, steps = np.full((DAY, 1), 0.5), STEPS[:DAY]
    power, spread = forecasts + 0.2, np.full((DAY, 1), 0.25)
    power[12:], spread[12:] = forecasts[12:], 1.0
    plain = snapshot.quantiles(forecasts, steps)
    moved = snapshot.quantiles(forecasts, steps, moved=MovedForecasts(power, spread, AHEAD))
    assert (moved[12:] == plain[12:]).all()
    np.testing.assert_allclose(moved[:12] - 0.7, 0.25 * (plain[:12] - 0.5))
    low = snapshot.quantiles(forecasts, steps, moved=MovedForecasts(0 * power, 0.9 * spread, AHEAD))
    assert (low >= 0).all()  # the limit of the calibrator


@pytest.fixture
def near_snapshot(snapshot) -> QuantileSnapshot:
    """A tenth as wide one step ahead, half as wide six steps ahead."""
    logarithm = np.log([[0.1], [0.5]])
    near = NearQuantiles((1, 6), DAY, (snapshot.model, snapshot.model), logarithm)
    return replace(snapshot, near=near)


def test_quantiles_of_the_next_hours_are_those_of_their_lead(snapshot, near_snapshot):
    forecasts, steps = np.full((DAY, 1), 0.5), STEPS[:DAY]
    moved = MovedForecasts(forecasts, np.where(AHEAD < 20, 0.3, 1.0), AHEAD)
    plain = snapshot.quantiles(forecasts, steps) - 0.5
    found = near_snapshot.quantiles(forecasts, steps, moved=moved) - 0.5
    np.testing.assert_allclose(found[0], 0.1 * plain[0])
    np.testing.assert_allclose(found[5], 0.5 * plain[5])
    np.testing.assert_allclose(found[14], 0.75 * plain[14])
    assert (found[19:] == plain[19:]).all()  # not moved: as a day ahead, to the last bit
    again = QuantileSnapshot.unpack(near_snapshot.pack()).quantiles(forecasts, steps, moved=moved)
    np.testing.assert_allclose(again - 0.5, found, atol=1e-5)


def test_quantiles_of_the_next_hours_stay_within_the_limits(near_snapshot):
    forecasts = np.zeros((DAY, 1))
    moved = MovedForecasts(forecasts, np.full((DAY, 1), 0.3), AHEAD)
    assert (near_snapshot.quantiles(forecasts, STEPS[:DAY], moved=moved) >= 0).all()


def test_a_snapshot_with_a_table_per_band_as_before_is_refused_not_misread(snapshot):
    arrays = load(verify_checksum(snapshot.pack()))
    arrays["table"] = np.repeat(arrays["table"][:, None], BANDS, axis=1)
    with pytest.raises(StateError, match="table has shape"):
        QuantileSnapshot.unpack(save(arrays))


@pytest.mark.parametrize("name", ["limits", "scale", "wide", "height"])
def test_what_does_not_fit_the_entities_is_refused(snapshot, name):
    arrays = load(verify_checksum(snapshot.pack()))
    arrays[name] = np.concatenate([arrays[name], arrays[name]])
    with pytest.raises(StateError, match=f"{name} has shape"):
        QuantileSnapshot.unpack(save(arrays))


def test_what_is_no_sheet_is_refused():
    with pytest.raises(StateError, match="intervals cannot be read"):
        QuantileSnapshot.unpack(b"no snapshot")
