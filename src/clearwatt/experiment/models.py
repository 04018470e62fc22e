"""Trained networks on their way between processes and to disk, as plain arrays."""

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
from clearwatt.packing import tensors_below
from clearwatt.strategies import Frozen
from clearwatt.training.networks import Network, Params

Arrays = Mapping[str, npt.NDArray[np.float32]]


class Place(NamedTuple):
    """An entity: the position of its zone, and its own within the zone."""

    zone: int
    column: int


@dataclass(frozen=True, eq=False)
class Candidate:
    """A trained network with its validation error."""

    network: Network
    weights: Arrays
    validation_rmse: float

    @classmethod
    def of(cls, model: Model) -> Candidate:
        """Take a model apart."""
        rmse = float("inf") if model.validation_rmse is None else model.validation_rmse
        return cls(model.network, arrays(model.params), rmse)

    @property
    def model(self) -> Model:
        """Put it together again."""
        return Model(self.network, params(self.weights), self.validation_rmse)


def arrays(weights: Params) -> Arrays:
    """Weights as arrays, which any process can be sent."""
    return {name: tensor.numpy() for name, tensor in weights.items()}


def params(weights: Arrays) -> Params:
    """Weights as tensors."""
    return {name: torch.from_numpy(np.array(values)) for name, values in weights.items()}


def save_candidates(path: Path, candidates: Sequence[Candidate]) -> None:
    """Write trained networks into a folder, atomically."""
    values = [
        {"network": pack_network(each.network), "validation_rmse": each.validation_rmse}
        for each in candidates
    ]
    tensors = {
        f"{at}.{name}": torch.from_numpy(np.array(values))
        for at, each in enumerate(candidates)
        for name, values in each.weights.items()
    }
    save_state(path, {"candidates": values}, tensors)


def load_candidates(path: Path) -> list[Candidate] | None:
    """Read trained networks from a folder; None if they are missing or damaged."""
    try:
        saved = load_state(path)
    except StateError:
        return None
    return [
        Candidate(
            unpack_network(each["network"], None),
            arrays(tensors_below(saved.tensors, f"{at}.")),
            each["validation_rmse"],
        )
        for at, each in enumerate(saved.values["candidates"])
    ]


def best(candidates: Sequence[Candidate]) -> Candidate:
    """The one with the lowest validation error; the first of equals."""
    return min(candidates, key=lambda each: each.validation_rmse)


def frozen(autoencoder: Candidate, predictors: Sequence[Candidate]) -> Instance:
    """Trained networks that forecast and reconstruct, and never learn."""
    return Instance.bare(
        ClearSettings(strategy=Frozen()),
        autoencoder.network.inputs,
        autoencoder=autoencoder.model,
        predictors=[each.model for each in predictors],
    )


@cache
def size(network: Network) -> int:
    """Number of weights."""
    return sum(tensor.numel() for tensor in network.initialise([0]).values())
