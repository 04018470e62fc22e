import numpy as np
import pytest
import torch

from clearwatt.clear.component import Model
from clearwatt.experiment.models import (
    TrainedNetwork,
    best,
    frozen_instance,
    load_networks,
    save_networks,
)
from clearwatt.training.networks import Autoencoder, Predictor

AUTOENCODER = Autoencoder(inputs=5, width=8, layers=2, latent=3)
PREDICTOR = Predictor(inputs=3, width=6, layers=1)


def trained(network, seed=0, rmse=0.5):
    return TrainedNetwork.of(Model(network, network.initialise([seed]), rmse))


def test_arrays_become_the_same_model_again():
    params = PREDICTOR.initialise([4])
    model = TrainedNetwork.of(Model(PREDICTOR, params, 0.25)).model
    assert (model.network, model.validation_rmse) == (PREDICTOR, 0.25)
    assert model.params.keys() == params.keys()
    assert all(torch.equal(model.params[name], tensor) for name, tensor in params.items())


def test_a_model_that_was_not_validated_is_never_the_best():
    unknown, known = trained(PREDICTOR, rmse=None), trained(PREDICTOR, rmse=9.0)
    assert best([unknown, known]) is known


def test_the_first_of_equally_good_models_is_the_best():
    first, second, worse = (trained(PREDICTOR, rmse=rmse) for rmse in (0.1, 0.1, 0.2))
    assert best([worse, first, second]) is first


def test_saved_networks_are_read_as_they_were(tmp_path):
    written = [trained(AUTOENCODER, rmse=0.1), trained(PREDICTOR, seed=3, rmse=0.2)]
    save_networks(tmp_path / "networks", written)
    read = load_networks(tmp_path / "networks")
    assert [(each.network, each.validation_rmse) for each in read] == [
        (AUTOENCODER, 0.1),
        (PREDICTOR, 0.2),
    ]
    for one, other in zip(read, written, strict=True):
        assert one.weights.keys() == other.weights.keys()
        for name, weights in one.weights.items():
            np.testing.assert_array_equal(weights, other.weights[name])


def test_missing_or_damaged_networks_are_none(tmp_path):
    assert load_networks(tmp_path / "networks") is None
    save_networks(tmp_path / "networks", [trained(PREDICTOR)])
    (tmp_path / "networks" / "state.json").write_text("{", encoding="utf-8")
    assert load_networks(tmp_path / "networks") is None


def test_a_frozen_instance_forecasts_with_its_networks():
    autoencoder, predictor = trained(AUTOENCODER), trained(PREDICTOR)
    x = np.random.default_rng(0).random((7, 5), np.float32)
    found = frozen_instance(autoencoder, [predictor]).predict(x)
    latent = AUTOENCODER.encode(autoencoder.model.params, torch.from_numpy(x)[None])
    expected = PREDICTOR.forward(predictor.model.params, latent)[0]
    assert found == pytest.approx(expected.numpy(), abs=1e-5)
