"""Saved networks and models survive JSON, or are refused."""

import json

import pytest
from torch import nn

from clearwatt.clear import model_saving
from clearwatt.errors import StateError
from clearwatt.training.networks import (
    Autoencoder,
    ModulePredictor,
    Predictor,
    VariationalAutoencoder,
)


def through_json(values):
    return json.loads(json.dumps(values))


@pytest.mark.parametrize(
    "network",
    [Autoencoder(5, 9, 2, 3), VariationalAutoencoder(5, 9, 2, 3, 0.25), Predictor(3, 7, 2)],
    ids=lambda network: type(network).__name__,
)
def test_a_built_in_network_comes_back_equal(network):
    assert (
        model_saving.unpack_network(through_json(model_saving.pack_network(network)), None)
        == network
    )


def test_a_network_of_ones_own_is_asked_for():
    own = ModulePredictor(lambda: nn.Linear(3, 1), inputs=3)
    packed = through_json(model_saving.pack_network(own))
    with pytest.raises(StateError, match="ModulePredictor of your own; pass the same network"):
        model_saving.unpack_network(packed, None)
    assert model_saving.unpack_network(packed, own) is own


def test_a_network_of_another_shape_is_refused():
    narrow, wide = (Predictor(3, width, 1) for width in (4, 5))
    tensors = {f"params.{name}": tensor for name, tensor in narrow.initialise([0]).items()}
    values = {"network": through_json(model_saving.pack_network(narrow))}
    with pytest.raises(StateError, match=r"saved with Predictor\(inputs=3, width=4"):
        model_saving.unpack_model(values, tensors, wide)
    own = [ModulePredictor(lambda width=w: _two_layers(width), inputs=3) for w in (4, 5)]
    tensors = {f"params.{name}": tensor for name, tensor in own[0].initialise([0]).items()}
    values = {"network": through_json(model_saving.pack_network(own[0]))}
    assert model_saving.unpack_model(values, tensors, own[0]).network is own[0]
    with pytest.raises(StateError, match="weights do not fit this ModulePredictor"):
        model_saving.unpack_model(values, tensors, own[1])


def _two_layers(width: int) -> nn.Module:
    return nn.Sequential(nn.Linear(3, width), nn.ReLU(), nn.Linear(width, 1))
