"""The saved form of a forecaster."""

import numpy as np
import pytest

from clearwatt.adaptive import AdaptiveForecaster
from clearwatt.errors import StateError
from clearwatt.files import save_state
from clearwatt.packing import Packed
from clearwatt.training.streams import drive


def test_stopped_and_read_back_it_goes_on_as_if_it_had_not(small, tmp_path):
    x, y, at = small.stream(60)
    y[small.WARMUP + 100 :: 50] *= 1e3  # outliers, so that their limits have to be saved, too
    forecaster, stop = small.started(x, y, at), small.WARMUP + 12 * 24 + 3
    first, rest = slice(small.WARMUP, stop), slice(stop, None)
    forecaster.live(x[first], y[first], at[first])
    forecaster.save(tmp_path / "state")
    expected = forecaster.live(x[rest], y[rest], at[rest])
    again = AdaptiveForecaster.load(tmp_path / "state")
    np.testing.assert_array_equal(again.live(x[rest], y[rest], at[rest]), expected)
    assert again.trainings.tolist() == forecaster.trainings.tolist()
    assert again.trainings.sum() > 0
    assert again.settings == small.SETTINGS


def without_corrections(packed):
    """As the release before corrections by lead saved it."""
    values, tensors = packed
    del values["state"]["leads"], values["state"]["frame"]["settings"]["leads"]
    for experts in values["past"]["experts"]:
        del experts["leads"]
    kept = {name: each for name, each in tensors.items() if ".leads." not in name}
    assert len(kept) < len(tensors)
    return Packed(values, kept)


def with_fewer_terms(packed):
    """As the release that had fewer terms saved it: the last one is left out."""
    fewer = {
        name: each[..., :-1, :-1] if name.endswith("moments") else each[..., :-1]
        for name, each in packed.tensors.items()
        if ".leads." in name and name.rpartition(".")[2] in ("moments", "products", "coefficients")
    }
    assert len(fewer) > 2
    return Packed(packed.values, packed.tensors | fewer)


@pytest.mark.parametrize("earlier", [without_corrections, with_fewer_terms])
def test_a_state_of_an_earlier_release_goes_on_and_learns_corrections_by_lead(small, earlier):
    x, y, at = small.stream(60)
    forecaster, first = small.started(x, y, at), slice(small.WARMUP, 50 * small.DAY)
    forecaster.observe(x[first], y[first], at[first])
    old = AdaptiveForecaster.unpack(earlier(forecaster.pack()))
    ahead = slice(50 * small.DAY, 51 * small.DAY)
    plain = old.deployed.forecast(x[ahead], at[ahead])
    np.testing.assert_array_equal(plain.power, plain.day_ahead)
    rest = slice(50 * small.DAY, None)
    expected = forecaster.live(x[rest], y[rest], at[rest])
    np.testing.assert_array_equal(old.live(x[rest], y[rest], at[rest]), expected)
    later = old.deployed.forecast(x[-5:], at[-5:] + 5)
    assert (later.spread[0] < 1).all()


@pytest.mark.parametrize("earlier", [without_corrections, with_fewer_terms])
def test_a_state_of_an_earlier_release_forecasts_by_lead_as_a_day_ahead(small, earlier):
    x, y, at = small.stream(60)
    forecaster, first = small.started(x, y, at), slice(small.WARMUP, 50 * small.DAY)
    forecaster.observe(x[first], y[first], at[first])
    old = AdaptiveForecaster.unpack(earlier(forecaster.pack()))
    rest = slice(50 * small.DAY, None)
    after = int(at[rest.start]) - 1
    stream = old.learn_periods(x[rest], y[rest], at[rest], after=after, distances=[1, 6])
    leads = [each.leads for each in drive(stream) if each.leads is not None]
    np.testing.assert_array_equal(leads[0].power[0], leads[0].day_ahead)
    assert (leads[-1].power[0] != leads[-1].day_ahead).any()


def test_networks_that_past_experts_share_are_saved_once(small):
    x, y, at = small.stream(42)
    forecaster, rest = small.started(x, y, at), slice(small.WARMUP, None)
    forecaster.observe(x[rest], y[rest], at[rest])
    names = [name for name in forecaster.pack().tensors if name.endswith("layer0.0.bias")]
    assert len(forecaster.state.past) > 3
    assert len(names) == 2


def test_another_state_is_refused(tmp_path):
    save_state(tmp_path, {"settings": 1}, {})
    with pytest.raises(StateError, match="no adaptive forecaster"):
        AdaptiveForecaster.load(tmp_path)
