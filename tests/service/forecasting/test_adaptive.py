"""A web process forecasts with what the learner has published, and holds it once."""

import json

import numpy as np
import pytest
import torch
from safetensors.torch import save

from clearwatt.adaptive import AdaptiveForecaster, AdaptiveSettings, NetworkSettings
from clearwatt.adaptive.publication import split_deployed
from clearwatt.errors import StateError
from clearwatt.packing import pack, to_bytes
from clearwatt.service.forecasting.adaptive import AdaptiveForecasts
from clearwatt.service.records import DeployedSnapshot
from clearwatt.training.fleet import Training

DAY = 24
AT = np.arange(20 * DAY)
X = np.concatenate([np.sin(AT[:, None] / [7.3, 31.0]), np.zeros((len(AT), 10))], axis=1)
Y = np.stack([X[:, 0], X[:, 1] ** 2], axis=1)


@pytest.fixture
def forecaster():
    networks = NetworkSettings(width=8, members=1, warm_up=Training(epochs=2, patience=None))
    settings = AdaptiveSettings(memory=600, networks=networks)
    days = slice(10 * DAY)
    return AdaptiveForecaster.fit(
        X[days], Y[days], AT[days], day=DAY, settings=settings, names=["north", "south"]
    )


def publish(forecaster, revision):
    base, rows = split_deployed(forecaster.deployed, forecaster.state.boundary)
    return DeployedSnapshot("zone", revision, to_bytes(base), to_bytes(rows))


def assemble(forecaster, revision, previous=None, *, missing=()):
    versions = {f"predictor:{each.entity}:{each.number}": each for each in forecaster.versions}

    def find(wanted):
        if wanted in missing:
            raise StateError(f"{wanted} is damaged")
        return wanted, versions[wanted]

    return AdaptiveForecasts.assemble(publish(forecaster, revision), find, previous=previous)


def test_each_revision_forecasts_as_the_learner_does(forecaster):
    found = None
    for revision, hour in enumerate(range(10 * DAY, 13 * DAY + 2)):
        forecaster.observe(X[[hour]], Y[[hour]], AT[[hour]])
        found = assemble(forecaster, revision, found)
        ahead = slice(hour + 1, hour + 1 + DAY)
        own = forecaster.deployed.forecast(X[ahead], AT[ahead])
        both = found.forecast(X[ahead].astype(np.float32), AT[ahead], ["south", "north"])
        for part, wanted in zip(both, (own.power, own.day_ahead, own.spread), strict=True):
            np.testing.assert_allclose(part, wanted[:, ::-1].T, rtol=1e-5, atol=1e-6)
    assert (both.spread[:, 0] < 0.9).all()  # an hour ahead, errors are smaller


def test_a_forecast_names_the_newest_measurement_that_it_uses(forecaster):
    day = slice(10 * DAY, 11 * DAY)
    measured = Y[day].copy()
    measured[-3:, 1] = np.nan
    forecaster.observe(X[day], measured, AT[day])
    found = assemble(forecaster, 1)
    assert [found.measured_until(name) for name in ("north", "south")] == [
        11 * DAY - 1,
        11 * DAY - 4,
    ]


def with_other_errors(period):
    """An open period as an earlier release wrote it, with fewer figures of the last errors."""
    packed = pack(period)
    tensors = {n: each for n, each in packed.tensors.items() if n != "latest.day_before"}
    text = torch.frombuffer(bytearray(json.dumps(packed.values).encode()), dtype=torch.uint8)
    return save({"values.json": text, **tensors})


@pytest.mark.parametrize(
    "written", [lambda period: to_bytes(period.rows), with_other_errors], ids=["rows", "errors"]
)
def test_rows_of_an_earlier_release_forecast_as_a_day_ahead(forecaster, written):
    day = slice(10 * DAY, 11 * DAY)
    forecaster.observe(X[day], Y[day], AT[day])
    base, period = split_deployed(forecaster.deployed, forecaster.state.boundary)
    snapshot = DeployedSnapshot("zone", 1, to_bytes(base), written(period))
    versions = {f"predictor:{each.entity}:{each.number}": each for each in forecaster.versions}
    found = AdaptiveForecasts.assemble(
        snapshot, lambda wanted: (wanted, versions[wanted]), previous=None
    )
    ahead = slice(11 * DAY, 12 * DAY)
    forecast = found.forecast(X[ahead].astype(np.float32), AT[ahead], ["north"])
    assert (forecast.power == forecast.day_ahead).all()
    assert (forecast.spread == 1).all()
    assert found.measured_until("north") is None


def test_the_rows_of_the_last_days_are_held_once(forecaster):
    first = assemble(forecaster, 0)
    forecaster.observe(X[[10 * DAY]], Y[[10 * DAY]], AT[[10 * DAY]])
    for found in (first, assemble(forecaster, 1, first)):
        assert np.shares_memory(found.base.rows.measured, found.deployed.recent.measured)
        assert np.shares_memory(found.base.rows.slow, found.deployed.recent.slow)


def test_an_entity_whose_networks_cannot_be_read_leaves_the_others_their_forecasts(forecaster):
    whole, ahead = assemble(forecaster, 0), slice(10 * DAY, 11 * DAY)
    found = assemble(forecaster, 0, missing=["predictor:north:0"])
    assert list(found.ids) == ["south"]
    assert "damaged" in found.reasons["north"]
    inputs = X[ahead].astype(np.float32), AT[ahead], ["south"]
    np.testing.assert_allclose(found.forecast(*inputs), whole.forecast(*inputs), rtol=1e-6)


def test_networks_of_other_settings_leave_the_other_entities_their_forecasts(forecaster):
    wide = NetworkSettings(width=16, members=1, warm_up=Training(epochs=1, patience=None))
    days = slice(10 * DAY)
    other = AdaptiveForecaster.fit(
        X[days],
        Y[days],
        AT[days],
        day=DAY,
        settings=AdaptiveSettings(memory=600, networks=wide),
        names=["north", "south"],
    )
    versions = {"north": other.versions[0], "south": forecaster.versions[1]}
    found = AdaptiveForecasts.assemble(
        publish(forecaster, 0),
        lambda wanted: (wanted, versions[wanted.split(":")[1]]),
        previous=None,
    )
    assert list(found.ids) == ["south"]
    assert "other shapes" in found.reasons["north"]
