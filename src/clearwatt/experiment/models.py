"""Trained networks as plain arrays, to send between processes and to write to disk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from clearwatt.clear.component import ClearSettings, Model
from clearwatt.clear.instance import Instance
from clearwatt.clear.model_saving import pack_network, unpack_network
from clearwatt.errors import StateError
from clearwatt.files import load_state, save_state
from clearwatt.packing import Values, tensors_below
from clearwatt.strategies import Frozen
from clearwatt.training.networks import Network, Params
from clearwatt.training.networks.own import OwnAutoencoder, OwnPredictor

Arrays = Mapping[str, npt.NDArray[np.float32]]


class Place(NamedTuple):
    """The place of an entity: the number of its zone, and its column within the zone."""

    zone: int
    column: int


@dataclass(frozen=True, eq=False)
class TrainedNetwork:
    """A trained network with its validation error."""

    network: Network
    weights: Arrays
    validation_rmse: float

    @classmethod
    def of(cls, model: Model) -> TrainedNetwork:
        """A trained model, without tensors."""
        rmse = float("inf") if model.validation_rmse is None else model.validation_rmse
        return cls(model.network, to_arrays(model.params), rmse)

    @property
    def model(self) -> Model:
        """The model, with tensors."""
        return Model(self.network, to_params(self.weights), self.validation_rmse)


def to_arrays(weights: Params) -> Arrays:
    """Weights as arrays, which can be sent to any process."""
    return {name: tensor.numpy() for name, tensor in weights.items()}


def to_params(weights: Arrays) -> Params:
    """Weights as tensors."""
    return {name: torch.from_numpy(np.array(values)) for name, values in weights.items()}


def save_networks(path: Path, candidates: Sequence[TrainedNetwork]) -> None:
    """Write trained networks into a folder, atomically."""
    values = [
        {"network": _pack(each.network), "validation_rmse": each.validation_rmse}
        for each in candidates
    ]
    tensors = {
        f"{at}.{name}": torch.from_numpy(np.array(values))
        for at, each in enumerate(candidates)
        for name, values in each.weights.items()
    }
    save_state(path, {"candidates": values}, tensors)


def load_networks(path: Path) -> list[TrainedNetwork] | None:
    """Read trained networks from a folder; None if they are missing or damaged."""
    try:
        saved = load_state(path)
    except StateError:
        return None
    return [
        TrainedNetwork(
            _unpack(each["network"]),
            to_arrays(tensors_below(saved.tensors, f"{at}.")),
            each["validation_rmse"],
        )
        for at, each in enumerate(saved.values["candidates"])
    ]


def _pack(network: Network) -> Values:
    """A network by its sizes; one of a user's own module by its path."""
    if isinstance(network, OwnAutoencoder | OwnPredictor):
        return {"own": type(network).__name__, "path": network.path, "inputs": network.inputs}
    return pack_network(network)


def _unpack(values: Values) -> Network:
    if "own" not in values:
        return unpack_network(values, None)
    kind = OwnPredictor if values["own"] == OwnPredictor.__name__ else OwnAutoencoder
    return kind(values["path"], values["inputs"])


def best(candidates: Sequence[TrainedNetwork]) -> TrainedNetwork:
    """The candidate with the lowest validation error; the first of equals."""
    return min(candidates, key=lambda each: each.validation_rmse)


def frozen_instance(autoencoder: TrainedNetwork, predictors: Sequence[TrainedNetwork]) -> Instance:
    """An instance of trained networks that forecasts and reconstructs, and never learns."""
    return Instance.create_empty(
        ClearSettings(strategy=Frozen()),
        autoencoder.network.inputs,
        autoencoder=autoencoder.model,
        predictors=[each.model for each in predictors],
    )


@cache
def weight_count(network: Network) -> int:
    """Number of weights."""
    return sum(tensor.numel() for tensor in network.initialise([0]).values())
