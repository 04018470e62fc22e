import numpy as np
import pytest

from clearwatt.adaptive import NetworkSettings, NetworkVersion
from clearwatt.adaptive.ensemble import (
    FEW_ENTITIES,
    FEW_SAMPLES,
    MANY_ROWS,
    MAX_MULTIPLIER,
    Architecture,
    Ensemble,
    with_enough_epochs,
)
from clearwatt.training.fleet import Training

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
    together = Ensemble(shape, versions).forecast(seen)
    alone = [Ensemble(shape, (version,)).forecast(seen) for version in versions]
    np.testing.assert_allclose(together, np.concatenate(alone, axis=1), rtol=1e-5, atol=1e-6)
