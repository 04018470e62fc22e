"""Forecasts of deployed models, in double precision so that rows do not affect each other."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

import numpy as np
import torch

from clearwatt.arrays import Float32Array, Float64Array
from clearwatt.clear.loop import reconstructor
from clearwatt.training.fleet import one_thread
from clearwatt.training.networks import Network, Params


class ModelLike(Protocol):
    """Anything with a network and weights: a component or a model."""

    @property
    def network(self) -> Network:
        """The network."""

    @property
    def params(self) -> Params:
        """Its weights, 1 x ..."""


@one_thread()
@torch.inference_mode()
def forecasts(models: Iterable[tuple[ModelLike, ModelLike]], x: Float32Array) -> Float64Array:
    """Forecasts (n x models) for inputs (n x d) by autoencoders, each with its predictor."""
    values = torch.from_numpy(x).double()[None]
    latents: dict[int, torch.Tensor] = {}
    columns = []
    for encoder, predictor in models:
        if id(encoder) not in latents:  # a shared encoder runs once
            network = reconstructor(encoder.network)
            latents[id(encoder)] = network.encode(_double(encoder.params), values)
        output = predictor.network.forward(_double(predictor.params), latents[id(encoder)])
        columns.append(output[0, :, 0].numpy())
    return np.stack(columns, axis=1)


@one_thread()
@torch.inference_mode()
def reconstructions(autoencoder: ModelLike, x: Float32Array) -> Float64Array:
    """Reconstructions (n x d) of inputs (n x d)."""
    values = torch.from_numpy(x).double()[None]
    output: Float64Array = autoencoder.network.forward(_double(autoencoder.params), values)[
        0
    ].numpy()
    return output


def _double(params: Params) -> Params:
    return {name: tensor.double() for name, tensor in params.items()}
