import numpy as np
import pytest

from clearwatt.adaptive import NetworkGroup, NetworkSettings, NetworkVersion
from clearwatt.adaptive.ensemble import (
    FEW_ENTITIES,
    FEW_SAMPLES,
    MAX_MULTIPLIER,
    Architecture,
    Ensemble,
    with_enough_epochs,
)
from clearwatt.adaptive.stacked_networks import MANY_ROWS
from clearwatt.training.fleet import Training
from clearwatt.training.networks import select

THREE = Training(epochs=3, patience=None)


@pytest.mark.parametrize("samples", [FEW_SAMPLES, 3_000, 50_000])
def test_many_samples_are_passed_over_as_often_as_was_asked(samples):
    assert with_enough_epochs(THREE, samples) == THREE


def test_few_samples_are_passed_over_more_often_but_not_without_end():
    assert with_enough_epochs(THREE, FEW_SAMPLES // 2).epochs == 2 * THREE.epochs
    assert with_enough_epochs(THREE, 1).epochs == MAX_MULTIPLIER * THREE.epochs


@pytest.mark.parametrize("rows", [5, MANY_ROWS])
def test_entities_forecast_alike_however_many_there_are(rows):
    shape = Architecture(NetworkSettings(width=8, members=1), inputs=4, season=(3,))
    versions = tuple(
        NetworkVersion(place, 0, shape.network.initialise([3 * place, 1, 2]), 0.0)
        for place in range(FEW_ENTITIES + 1)
    )
    seen = np.random.default_rng(0).normal(size=(rows, 4)).astype(np.float32)
    lagged = np.random.default_rng(1).normal(size=(rows, len(versions), 2)).astype(np.float32)
    together = Ensemble(shape, versions).forecast(seen, lagged)
    alone = [
        Ensemble(shape, (version,)).forecast(seen, lagged[:, [place]])
        for place, version in enumerate(versions)
    ]
    np.testing.assert_allclose(together, np.concatenate(alone, axis=1), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("rows", [5, MANY_ROWS])
def test_a_group_sees_past_measurements_season_and_neighbours_only_if_it_should(rows):
    groups = (
        *(NetworkGroup(), NetworkGroup(season=True)),
        *(NetworkGroup(neighbours=True), NetworkGroup(lags=True)),
    )
    networks = NetworkSettings(width=8, members=2, groups=groups)
    shape = Architecture(networks, inputs=4, season=(3,), neighbours=(1,))
    params = shape.network.initialise(list(range(8)))
    ensemble = Ensemble(shape, (NetworkVersion("a", 0, params, 0.0),))
    rng = np.random.default_rng(0)
    seen = rng.normal(size=(rows, 4)).astype(np.float32)
    lagged = rng.normal(size=(rows, 1, 2)).astype(np.float32)
    before = ensemble.forecast(seen, lagged)
    season, neighbour = np.eye(4, dtype=np.float32)[[3, 1]]
    changed = [
        ensemble.forecast(seen + season, lagged),
        ensemble.forecast(seen + neighbour, lagged),
        ensemble.forecast(seen, lagged + 1),
    ]
    for after, group in zip(changed, (1, 2, 3), strict=True):
        differs = (np.abs(after - before) > 1e-4).any(axis=(0, 1))
        assert np.flatnonzero(differs).tolist() == [group]
    np.testing.assert_allclose(
        ensemble.mean_forecast(seen), before[..., :3].mean(axis=2), rtol=1e-6
    )


@pytest.mark.parametrize("rows", [5, MANY_ROWS])
def test_a_network_forecasts_what_it_was_trained_to(rows):
    shape = Architecture(NetworkSettings(width=8, members=1), inputs=4, season=(3,))
    params = shape.network.initialise([0, 1, 2])
    rng = np.random.default_rng(0)
    seen, lagged = rng.normal(size=(rows, 4)), rng.normal(size=(rows, 1, 2))
    seen, lagged = seen.astype(np.float32), lagged.astype(np.float32)
    jobs = shape.jobs(
        params, seen, lagged[:, 0], np.zeros(rows, np.float32), ages=None, seeds=[0, 1, 2]
    )
    outputs = [
        job.network.forward(select(params, place), job.inputs[None])
        for place, job in enumerate(jobs)
    ]
    found = Ensemble(shape, (NetworkVersion("a", 0, params, 0.0),)).forecast(seen, lagged)
    for group, output in enumerate(outputs):
        np.testing.assert_allclose(found[:, 0, group], output[0, :, 0], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("ages", [None, np.zeros(5)], ids=["warm-up", "update"])
def test_batches_of_quarter_hours_are_four_times_as_large(ages):
    rows = np.zeros((5, 6), np.float32)
    batches = []
    for hour in (1, 4):
        networks = NetworkSettings(width=8, members=1)
        shape = Architecture(networks, inputs=4, season=(3,), hour=hour)
        params = shape.network.initialise([0, 1, 2])
        jobs = shape.jobs(params, rows[:, :4], rows[:, 4:], rows[:, 0], ages=ages, seeds=[0, 1, 2])
        batches.append(jobs[0].training.batch)
    assert batches[1] == 4 * batches[0]
