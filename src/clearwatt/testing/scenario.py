"""A small data set with drift that causes several updates of each component."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import torch

from clearwatt.arrays import Float32Array
from clearwatt.clear.component import ClearSettings, Model
from clearwatt.clear.instance import Instance
from clearwatt.clear.warm_up import InstanceNetworks, WarmUp
from clearwatt.strategies import Batch, ComponentName, Strategy
from clearwatt.training.fleet import Training, one_thread
from clearwatt.training.networks import Autoencoder, Predictor, VariationalAutoencoder
from clearwatt.training.streams import drive

WARM_UP = 160
STREAM = 320
SHORT = 200
"""Length of a stream that causes a few updates."""

ENTITIES = 3
CAPACITY = 20
"""Novel samples that trigger an update in all checks."""

_INPUTS = 4
_LATENT = 3


@dataclass(frozen=True, eq=False)
class Scenario:
    """Inputs (n x d) and measurements (n x entities) of a warm-up and of the stream after it."""

    warm_x: Float32Array
    warm_y: Float32Array
    x: Float32Array
    y: Float32Array


@cache
def scenario() -> Scenario:
    """The data set; the same arrays at every call, so callers must not modify them."""
    rng = np.random.default_rng(0)
    time = np.arange(WARM_UP + STREAM)
    phase = np.stack([np.sin(time / 4), np.cos(time / 4), np.sin(time / 7)], axis=1)
    noise = rng.normal(size=(len(time), _INPUTS + ENTITIES))
    drift = np.clip((time - WARM_UP) / STREAM, 0, None)[:, None]
    x = np.concatenate([phase * (1 + drift), 2 * drift], axis=1) + 0.1 * noise[:, :_INPUTS]
    mixing = rng.normal(size=(3, ENTITIES))
    y = np.tanh(phase @ mixing) + drift * (phase[:, ::-1] @ mixing) + 0.05 * noise[:, _INPUTS:]
    y[rng.random(y.shape) < 0.05] = np.nan
    inputs, targets = x.astype(np.float32), y.astype(np.float32)
    return Scenario(inputs[:WARM_UP], targets[:WARM_UP], inputs[WARM_UP:], targets[WARM_UP:])


@cache
def _models(synchronous: bool) -> tuple[Model, ...]:
    """Warm-up models: an autoencoder (variational if synchronous), a predictor per entity."""
    data = scenario()
    warmup = WarmUp(Training(epochs=30, batch=32, learning_rate=1e-2))
    kind = VariationalAutoencoder if synchronous else Autoencoder
    networks = InstanceNetworks(kind(_INPUTS, 8, 1, _LATENT), Predictor(_LATENT, 8, 1))
    autoencoder, predictors = drive(warmup.models(networks, data.warm_x, data.warm_y))
    return (autoencoder, *predictors)


def models(strategy: Strategy) -> tuple[Model, ...]:
    """Copies of the warm-up models for a strategy."""
    return tuple(
        model._replace(params={name: tensor.clone() for name, tensor in model.params.items()})
        for model in _models(strategy.synchronous)
    )


def start(strategy: Strategy, entities: Sequence[int] = (0,)) -> Instance:
    """An instance of these entities, in this order, at the end of its warm-up."""
    data = scenario()
    autoencoder, *heads = models(strategy)
    settings = ClearSettings(
        strategy=strategy,
        novelty_capacity=CAPACITY,
        alpha=1.3,
        familiarity_capacity=2 * CAPACITY,
        update=Training(epochs=3, patience=None, batch=16),
    )
    with one_thread():
        return Instance.start(
            settings,
            data.warm_x,
            data.warm_y[:, entities],
            autoencoder=autoencoder,
            predictors=[heads[entity] for entity in entities],
            names=list(entities),
        )


def observe(
    instance: Instance, first: int = 0, last: int = SHORT, *, block: int = STREAM
) -> Instance:
    """Stream part of the data through an instance in blocks; returns the instance."""
    data, entities = scenario(), [int(part.entity or 0) for part in instance.predictors]
    with one_thread():
        for begin in range(first, last, block):
            part = slice(begin, min(begin + block, last))
            instance.observe(data.x[part], data.y[part][:, entities])
    return instance


def component_samples(
    component: ComponentName, model: Model, x: Float32Array, y: Float32Array
) -> Batch:
    """Inputs (n x d) and the first entity's measured targets as a component sees them.

    Args:
        component: Which of the two.
        model: The autoencoder, whose latents a predictor sees.
        x: Inputs.
        y: Measurements (n x entities).
    """
    if component == "autoencoder":
        return Batch(torch.from_numpy(x), None)
    measured = ~np.isnan(y[:, 0])
    network = model.network
    assert isinstance(network, Autoencoder | VariationalAutoencoder)
    latents = network.encode(model.params, torch.from_numpy(x[measured])[None])[0]
    return Batch(latents, torch.from_numpy(y[measured, :1]))
