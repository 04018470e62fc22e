"""Readings of a silent meter, reconstructed from others."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from clearwatt.adaptive import AdaptiveForecaster
from clearwatt.adaptive.reconstruction import MOST_DAYS
from clearwatt.adaptive.silences import SILENT_DAYS
from clearwatt.packing import Packed

DAYS = 100
SILENT = 30
"""Days of silence, which begins a day after the warm-up."""


@pytest.fixture
def plants(small):
    """Two plants that behave alike and a third that does not; later, weather gives more power."""
    x, y, at = small.stream(DAYS)
    rng = np.random.default_rng(1)
    local = np.convolve(rng.normal(size=len(at)), np.ones(6) / 6, mode="same")
    y[:, 0] += 0.5 * local
    y[small.WARMUP + 5 * small.DAY :, 0] += 0.8 * x[small.WARMUP + 5 * small.DAY :, 1]
    alike = 1.5 * y[:, 0] + 0.02 * rng.normal(size=len(at))
    power = np.stack([y[:, 0], alike, y[:, 1]], axis=1)
    begin = small.WARMUP + small.DAY
    silent = power.copy()
    silent[begin : begin + SILENT * small.DAY, 0] = np.nan
    settings = replace(small.SETTINGS, memory=1000)
    return SimpleNamespace(x=x, y=power, silent=silent, at=at, begin=begin, settings=settings)


def follow(small, plants, y, stop, *, entities=(0, 1, 2)):
    """A forecaster after the rows up to one."""
    own = y[:, list(entities)]
    forecaster = small.started(plants.x, own, plants.at, settings=plants.settings)
    rest = slice(small.WARMUP, stop)
    forecaster.observe(plants.x[rest], own[rest], plants.at[rest])
    return forecaster


def error_of_next_week(small, plants, forecaster, stop):
    """RMSE of the first entity, forecast with what is known, without further readings."""
    rows = slice(stop, stop + 7 * small.DAY)
    made = forecaster.deployed.forecast(plants.x[rows], plants.at[rows])
    return float(np.sqrt(np.mean(np.square(made.power[:, 0] - plants.y[rows, 0]))))


def test_a_silent_meter_goes_on_learning_from_one_that_behaves_alike(small, plants):
    stop = plants.begin + SILENT * small.DAY
    alone = follow(small, plants, plants.silent, stop, entities=(0, 2))
    beside = follow(small, plants, plants.silent, stop)
    heard = follow(small, plants, plants.y, stop)
    before, after, best = (
        error_of_next_week(small, plants, each, stop) for each in (alone, beside, heard)
    )
    assert alone.trainings[0] == 0 < beside.trainings[0]
    assert after < 0.85 * before
    assert after < 1.2 * best


def test_meters_that_do_not_tell_it_are_not_asked(small, plants):
    stop = plants.begin + SILENT * small.DAY
    forecaster = follow(small, plants, plants.silent, stop, entities=(0, 2))
    assert np.isnan(forecaster.state.recent.measured[:, 0]).all()


def test_nothing_is_reconstructed_in_a_short_silence(small, plants):
    stop = plants.begin + (SILENT_DAYS - 1) * small.DAY
    forecaster = follow(small, plants, plants.silent, stop)
    recent = forecaster.state.recent
    assert np.isnan(recent.measured[recent.at >= plants.begin, 0]).all()


def test_a_meter_that_is_gone_is_not_reconstructed_for_ever(small, plants, monkeypatch):
    monkeypatch.setattr("clearwatt.adaptive.reconstruction.MOST_DAYS", 15)
    assert MOST_DAYS > SILENT_DAYS
    stop = plants.begin + SILENT * small.DAY
    forecaster = follow(small, plants, plants.silent, stop)
    assert np.isnan(forecaster.state.recent.measured[:, 0]).all()


def test_a_late_reading_takes_the_place_of_a_reconstructed_one(small, plants):
    stop = plants.begin + SILENT * small.DAY
    forecaster = follow(small, plants, plants.silent, stop)
    row = stop - 2 * small.DAY
    late = np.full((1, 3), np.nan)
    late[0, 0] = 2.5
    forecaster.observe(plants.x[row : row + 1], late, plants.at[row : row + 1])
    state = forecaster.state
    (place,) = np.flatnonzero(state.recent.at == plants.at[row])
    measured = state.recent.measured[place, 0] * state.power.scale[0] + state.power.mean[0]
    assert measured == pytest.approx(2.5, rel=1e-5)


def test_a_forecaster_that_stops_in_a_silence_continues_as_if_it_had_not(small, plants):
    stop = plants.begin + SILENT * small.DAY
    whole = follow(small, plants, plants.silent, stop)
    half = follow(small, plants, plants.silent, stop - 10 * small.DAY - 3)
    resumed = AdaptiveForecaster.unpack(half.pack())
    for row in range(stop - 10 * small.DAY - 3, stop):
        part = slice(row, row + 1)
        resumed.observe(plants.x[part], plants.silent[part], plants.at[part])
    assert resumed.digest() == whole.digest()


def test_a_state_of_an_earlier_release_loads(small, plants):
    forecaster = follow(small, plants, plants.y, plants.begin + 8 * small.DAY)
    values, tensors = forecaster.pack()
    kept = {
        name: each
        for name, each in tensors.items()
        if "progress.measured" not in name and "progress.returned" not in name
    }
    assert len(kept) < len(tensors)
    older = AdaptiveForecaster.unpack(Packed(values, kept))
    rest = slice(plants.begin + 8 * small.DAY, plants.begin + 10 * small.DAY)
    for each in (forecaster, older):
        each.observe(plants.x[rest], plants.y[rest], plants.at[rest])
    now = [
        each.deployed.forecast(plants.x[:5], plants.at[:5]).power for each in (forecaster, older)
    ]
    np.testing.assert_array_equal(*now)


def test_networks_learn_a_day_after_a_silence_and_say_why(small, plants):
    stop = plants.begin + (SILENT + 3) * small.DAY
    own = plants.silent[:, [0, 2]]
    forecaster = small.started(plants.x, own, plants.at, settings=plants.settings)
    rest = slice(small.WARMUP, stop)
    changes = forecaster.observe(plants.x[rest], own[rest], plants.at[rest])
    back = [each.event for each in changes if getattr(each.event, "trigger", "") == "return"]
    assert back
    assert {event.entity for event in back} == {0}
    assert "after a long silence" in back[0].explanation
    days = (back[0].step - plants.begin) / small.DAY - SILENT
    assert 0.9 <= days <= 1.5
