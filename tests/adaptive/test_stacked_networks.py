import numpy as np
import pytest

from clearwatt.adaptive import NetworkSettings, NetworkVersion
from clearwatt.adaptive.ensemble import Architecture, Ensemble
from clearwatt.adaptive.stacked_networks import MANY_ROWS

INPUTS, ENTITIES = 4, 3


@pytest.mark.parametrize("groups", [None, [0, 1]], ids=["with lags", "without lags"])
def test_many_rows_are_forecast_as_they_are_few_at_a_time(groups):
    shape = Architecture(NetworkSettings(width=8, members=2), inputs=INPUTS, season=(3,))
    versions = tuple(
        NetworkVersion(place, 0, shape.network.initialise([7 * place + i for i in range(6)]), 0.0)
        for place in range(ENTITIES)
    )
    networks = Ensemble(shape, versions).stack_networks(groups)
    rng, rows = np.random.default_rng(0), 2 * MANY_ROWS
    seen = rng.normal(size=(rows, INPUTS)).astype(np.float32)
    lags = networks.lagged.shape[2] if groups is None else 0
    lagged = rng.normal(size=(ENTITIES, rows, lags)).astype(np.float32)
    found = networks.forward(seen, lagged)
    assert found.shape == (networks.size, rows)
    few = [
        networks.forward(seen[start : start + 10], lagged[:, start : start + 10])
        for start in range(0, rows, 10)
    ]
    np.testing.assert_allclose(found, np.concatenate(few, axis=1), rtol=1e-5, atol=1e-6)
