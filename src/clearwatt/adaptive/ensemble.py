"""The slow part: small networks that learn all along from a bounded sample of the past."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import torch

from clearwatt.adaptive.network import DropoutPredictor
from clearwatt.adaptive.settings import Slow
from clearwatt.arrays import Float32Array
from clearwatt.training.fleet import Job, Training, one_thread, train
from clearwatt.training.networks import Params, select, stack

FEW = 1_500
"""Samples below which training takes more passes."""
MOST = 6.0
"""Times as many at most, lest a handful be learned by heart."""


class Ensemble:
    """`g` groups of networks for each of `e` entities, trained stacked, forecasting by their means.

    Args:
        settings: Shape and training.
        inputs: Width `d` of what the networks see.
        season: Columns that tell the time of year, hidden from some groups.
        entities: How many there are.
        rng: Source of randomness.
    """

    def __init__(
        self,
        settings: Slow,
        *,
        inputs: int,
        season: Sequence[int],
        entities: int,
        rng: np.random.Generator,
    ) -> None:
        self.settings = settings
        self.network = DropoutPredictor(inputs, settings.width, settings.layers, settings.dropout)
        self.rng = rng
        self.season = list(season)
        count = settings.members * len(settings.groups)
        self.params: list[Params] = [
            self.network.initialise(self._seeds(count)) for _ in range(entities)
        ]

    def warm_up(self, x: Float32Array, y: Float32Array) -> None:
        """Train on inputs `n x d` and measurements `n x e`, NaN where there is none."""
        self._train(x, y, None, self.settings.warm_up)

    def update(self, x: Float32Array, y: Float32Array, *, ages: npt.NDArray[np.float64]) -> None:
        """Go on training on what is held of the past, `n` rows that old (in days)."""
        kept = 1 - self.settings.decay
        self.params = [{n: kept * t for n, t in params.items()} for params in self.params]
        self._train(x, y, ages, self.settings.update)

    @one_thread()
    def forecast(self, x: Float32Array) -> npt.NDArray[np.float64]:
        """The groups' forecasts, `n x e x g`."""
        views = self._views(x)
        with torch.inference_mode():
            means = [
                torch.stack([self._mean(params, at, view) for at, view in enumerate(views)])
                for params in self.params
            ]
        return torch.stack(means).permute(2, 0, 1).double().numpy()

    def _mean(self, params: Params, group: int, x: torch.Tensor) -> torch.Tensor:
        """The mean forecast of a group, `n`."""
        members = self.settings.members
        own = slice(group * members, (group + 1) * members)
        part = {name: tensor[own] for name, tensor in params.items()}
        return self.network.forward(part, x[None])[..., 0].mean(dim=0)

    def _views(self, x: Float32Array) -> list[torch.Tensor]:
        """What each group sees of inputs `n x d`; those that see the same share it."""
        whole = torch.from_numpy(np.ascontiguousarray(x))
        blind = whole.clone()
        blind[:, self.season] = 0
        return [whole if group.season else blind for group in self.settings.groups]

    def _train(
        self,
        x: Float32Array,
        y: Float32Array,
        ages: npt.NDArray[np.float64] | None,
        training: Training,
    ) -> None:
        entities = [e for e in range(len(self.params)) if np.isfinite(y[:, e]).any()]
        jobs = [job for e in entities for job in self._jobs(e, x, y[:, e], ages, training)]
        self._deploy(entities, [result.params for result in train(jobs)])

    def _jobs(
        self,
        entity: int,
        x: Float32Array,
        y: Float32Array,
        ages: npt.NDArray[np.float64] | None,
        training: Training,
    ) -> list[Job]:
        """One job per network of an entity, on what was measured for it."""
        known = np.isfinite(y)
        targets = torch.from_numpy(y[known, None])
        views = self._views(x[known])
        members = self.settings.members
        seeds = self._seeds(members * len(views))
        training = enough(training, len(targets))
        weights = [
            _weights(group.half_life, None if ages is None else ages[known])
            for group in self.settings.groups
        ]
        return [
            Job(
                self.network,
                select(self.params[entity], at),
                views[at // members],
                targets,
                training,
                seed=seed,
                weights=weights[at // members],
            )
            for at, seed in enumerate(seeds)
        ]

    def _deploy(self, entities: Sequence[int], trained: Sequence[Params]) -> None:
        size = self.settings.members * len(self.settings.groups)
        for position, entity in enumerate(entities):
            self.params[entity] = stack(trained[position * size : (position + 1) * size])

    def _seeds(self, count: int) -> list[int]:
        return [int(seed) for seed in self.rng.integers(2**31, size=count)]


def enough(training: Training, samples: int) -> Training:
    """As many steps on few samples as on `FEW`, within reason: passes over less teach less."""
    more = min(MOST, max(1.0, FEW / max(1, samples)))
    return replace(training, epochs=math.ceil(training.epochs * more))


def _weights(half_life: float | None, ages: npt.NDArray[np.float64] | None) -> torch.Tensor | None:
    """What each sample counts, 1 on average; None: all alike."""
    if half_life is None or ages is None:
        return None
    weights = 0.5 ** (ages / half_life)
    return torch.from_numpy((weights / weights.mean()).astype(np.float32))
