"""The warm-up: trains the autoencoder, then a predictor per entity, and starts an instance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import inf, isfinite
from typing import Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor

from clearwatt.arrays import Float32Array
from clearwatt.clear.component import ClearSettings, Model
from clearwatt.clear.instance import Instance
from clearwatt.clear.loop import encode, reconstructor
from clearwatt.errors import ConfigurationError, DataError
from clearwatt.forecaster import Name
from clearwatt.strategies import Strategy
from clearwatt.training.fleet import Job, Trained, Training
from clearwatt.training.networks import (
    Autoencoder,
    Network,
    Params,
    Predictor,
    Reconstructor,
    VariationalAutoencoder,
)
from clearwatt.training.streams import Stream

FINISH_RATE, FINISH_EPOCHS = 0.1, 0.2
"""Second training of `WarmUp.finished_autoencoder`: shares of learning rate and epochs."""


class InstanceNetworks(NamedTuple):
    """The networks of an instance: one autoencoder, and one predictor for every entity."""

    autoencoder: Reconstructor
    predictor: Network

    @classmethod
    def for_strategy(
        cls,
        strategy: Strategy,
        inputs: int,
        *,
        latent: int,
        width: int,
        layers: int,
        predictor_width: int,
        predictor_layers: int,
        kl_weight: float = 5e-6,
    ) -> InstanceNetworks:
        """Built-in networks of these sizes; synchronous strategies need a variational one.

        Args:
            strategy: The continual-learning approach.
            inputs: Features of a sample.
            latent: Width of the representation.
            width: First hidden width of the autoencoder.
            layers: Hidden layers of its encoder.
            predictor_width: Hidden width of a predictor.
            predictor_layers: Hidden layers of a predictor.
            kl_weight: Weight of the KL divergence in a variational autoencoder.
        """
        autoencoder: Reconstructor = Autoencoder(inputs, width, layers, latent)
        if strategy.synchronous:
            autoencoder = VariationalAutoencoder(inputs, width, layers, latent, kl_weight)
        return cls(autoencoder, Predictor(latent, predictor_width, predictor_layers))


class WarmUpModels(NamedTuple):
    """The models of a warm-up: the autoencoder, and one predictor per entity."""

    autoencoder: Model
    predictors: list[Model]

    def start(
        self,
        settings: ClearSettings,
        x: Float32Array,
        y: Float32Array,
        *,
        names: Sequence[Name] | None = None,
    ) -> Instance:
        """An instance with these models, started with the data they were trained on."""
        return Instance.start(
            settings,
            x,
            y,
            autoencoder=self.autoencoder,
            predictors=self.predictors,
            names=names,
        )


@dataclass(frozen=True)
class WarmUp:
    """How the first models are trained; the defaults are the paper's.

    Args:
        training: Epochs, patience, batch and learning rate.
        validation_share: Share of the samples held out for early stopping.
        split: "random" by seed, or "temporal": the last samples are held out.
        seed: Seed of the initial weights, the split and the order of samples.
        strict: Raise a DataError if a training diverges. Otherwise its model gets an infinite
            validation error, so that a search does not choose it.
    """

    training: Training = field(default_factory=Training)
    validation_share: float = 0.2
    split: Literal["random", "temporal"] = "random"
    seed: int = 0
    strict: bool = True

    def __post_init__(self) -> None:
        if not 0 < self.validation_share < 1:
            raise ConfigurationError(
                f"validation_share is {self.validation_share}; it must lie between 0 and 1"
            )
        if self.split not in ("random", "temporal"):
            raise ConfigurationError(f"split is {self.split!r}; choose random or temporal")

    def instance(
        self,
        settings: ClearSettings,
        networks: InstanceNetworks,
        x: Float32Array,
        y: Float32Array,
        *,
        names: Sequence[Name] | None = None,
    ) -> Stream[Instance]:
        """Train the first models on x (n x d) and y (n x entities) and start an instance."""
        models = yield from self.models(networks, x, y)
        return models.start(settings, x, y, names=names)

    def models(
        self,
        networks: InstanceNetworks,
        x: Float32Array,
        y: Float32Array,
        *,
        autoencoder: Model | None = None,
    ) -> Stream[WarmUpModels]:
        """Train an autoencoder, unless one is given, and one predictor per column of y."""
        if autoencoder is None:
            autoencoder = yield from self.autoencoder(networks.autoencoder, x)
        predictors = yield from self.predictors(networks.predictor, autoencoder, x, y)
        return WarmUpModels(autoencoder, predictors)

    def autoencoder(
        self, network: Reconstructor, x: Float32Array, *, initial: Params | None = None
    ) -> Stream[Model]:
        """Train an autoencoder on inputs (n x d), from initial weights if they are given."""
        job = self._job(network, torch.from_numpy(x), None, seed=self.seed)
        (trained,) = yield (job if initial is None else replace(job, params=initial),)
        return self._model(network, trained, "autoencoder")

    def finished_autoencoder(self, network: Reconstructor, x: Float32Array) -> Stream[Model]:
        """Train an autoencoder, then go on at a tenth of the learning rate; the better one.

        The second training has a fifth of the epochs; steps of the first are too long to settle.
        """
        coarse = yield from self.autoencoder(network, x)
        if not isfinite(_error(coarse)):
            return coarse
        training = self.training
        finer = replace(
            training,
            learning_rate=FINISH_RATE * training.learning_rate,
            epochs=max(1, round(FINISH_EPOCHS * training.epochs)),
        )
        fine = yield from replace(self, training=finer).autoencoder(
            network, x, initial=coarse.params
        )
        return min(coarse, fine, key=_error)

    def predictors(
        self, network: Network, representation: Model, x: Float32Array, y: Float32Array
    ) -> Stream[list[Model]]:
        """Train one predictor per column of y (n x entities) on the frozen encoder's latents."""
        latents = encode(reconstructor(representation.network), representation.params, x)
        jobs = tuple(
            self._job(network, latents[measured], targets[measured, None], seed=self.seed + entity)
            for entity, (targets, measured) in enumerate(_columns(y))
        )
        trained = yield jobs
        return [
            self._model(network, each, f"predictor of entity {i}") for i, each in enumerate(trained)
        ]

    def _model(self, network: Network, trained: Trained, what: str) -> Model:
        if trained.diverged and self.strict:
            raise DataError(
                f"warm-up training of the {what} diverged; check the scale of the data or lower "
                "the learning rate"
            )
        return Model(network, trained.params, inf if trained.diverged else trained.validation_rmse)

    def _job(self, network: Network, inputs: Tensor, targets: Tensor | None, *, seed: int) -> Job:
        order = np.arange(len(inputs))
        if self.split == "random":
            order = np.random.default_rng([seed, 7]).permutation(len(inputs))
        held = max(1, round(self.validation_share * len(inputs)))
        first, last = (torch.from_numpy(part) for part in (order[:-held], order[-held:]))
        return Job(
            network=network,
            params=network.initialise([seed]),
            inputs=inputs[first],
            targets=None if targets is None else targets[first],
            training=self.training,
            seed=seed,
            validation=(inputs[last], None if targets is None else targets[last]),
        )


def _error(model: Model) -> float:
    return inf if model.validation_rmse is None else model.validation_rmse


def _columns(y: Float32Array) -> Sequence[tuple[Tensor, Tensor]]:
    columns = [torch.from_numpy(np.ascontiguousarray(column)) for column in y.T]
    return [(column, torch.nonzero(~column.isnan())[:, 0]) for column in columns]
