"""The warm-up: train the shared autoencoder, freeze its encoder, train a predictor per entity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from clearwatt.arrays import Float32Array
from clearwatt.clear.component import Model
from clearwatt.clear.loop import encode, reconstructor
from clearwatt.errors import ConfigurationError, DataError
from clearwatt.training.fleet import Job, Trained, Training
from clearwatt.training.networks import Network, Reconstructor
from clearwatt.training.streams import Stream


@dataclass(frozen=True)
class WarmUp:
    """How the first models are trained; the defaults are the paper's.

    Args:
        training: epochs, patience, batch and learning rate.
        validation_share: part of the samples held out for early stopping.
        split: "random" by seed, or "temporal": the last samples.
        seed: of the initial weights, the split and the order of samples.
        strict: refuse to go on with a training that diverged; otherwise its model has an infinite
            validation error, so that a search passes over it.
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

    def autoencoder(self, network: Reconstructor, x: Float32Array) -> Stream[Model]:
        """Train an autoencoder on inputs (n x d)."""
        job = self._job(network, torch.from_numpy(x), None, seed=self.seed)
        (trained,) = yield (job,)
        return self._model(network, trained, "autoencoder")

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


def _columns(y: Float32Array) -> Sequence[tuple[Tensor, Tensor]]:
    columns = [torch.from_numpy(np.ascontiguousarray(column)) for column in y.T]
    return [(column, torch.nonzero(~column.isnan())[:, 0]) for column in columns]
