"""The slow part: small networks that learn all along from a bounded sample of the past."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch

from clearwatt.adaptive.network import DropoutPredictor
from clearwatt.adaptive.settings import Slow
from clearwatt.fleet import Job, Training, one_thread, train
from clearwatt.networks import Params, select, stack

Floats = npt.NDArray[np.float32]


class Ensemble:
    """`g` groups of networks for each of `e` entities, trained stacked, forecasting by their means.

    Args:
        settings: Shape and training.
        inputs: Width `d` of what the networks see.
        entities: How many there are.
        rng: Source of randomness.
    """

    def __init__(
        self, settings: Slow, *, inputs: int, entities: int, rng: np.random.Generator
    ) -> None:
        self.settings = settings
        self.network = DropoutPredictor(inputs, settings.width, settings.layers, settings.dropout)
        self.rng = rng
        count = settings.members * len(settings.half_lives)
        self.params: list[Params] = [
            self.network.initialise(self._seeds(count)) for _ in range(entities)
        ]

    @property
    def groups(self) -> int:
        """Number of groups `g`."""
        return len(self.settings.half_lives)

    def warm_up(self, x: Floats, y: Floats) -> None:
        """Train on inputs `n x d` and measurements `n x e`, NaN where there is none."""
        self._train(x, y, None, self.settings.warm_up)

    def update(self, x: Floats, y: Floats, *, ages: npt.NDArray[np.float64]) -> None:
        """Go on training on what is held of the past, `n` rows that old (in days)."""
        kept = 1 - self.settings.decay
        self.params = [{n: kept * t for n, t in params.items()} for params in self.params]
        self._train(x, y, ages, self.settings.update)

    @one_thread()
    def forecast(self, x: Floats) -> npt.NDArray[np.float64]:
        """The groups' forecasts, `n x e x g`."""
        rows = torch.from_numpy(np.ascontiguousarray(x))[None]
        with torch.inference_mode():
            outputs = [self.network.forward(params, rows)[..., 0] for params in self.params]
        grouped = [output.view(self.groups, -1, len(x)).mean(dim=1) for output in outputs]
        return torch.stack(grouped).permute(2, 0, 1).double().numpy()

    def _train(
        self,
        x: Floats,
        y: Floats,
        ages: npt.NDArray[np.float64] | None,
        training: Training,
    ) -> None:
        jobs, places = [], []
        for entity, params in enumerate(self.params):
            known = np.isfinite(y[:, entity])
            if not known.any():
                continue
            inputs = torch.from_numpy(x[known])
            targets = torch.from_numpy(y[known, entity, None])
            weights = [self._weights(half, ages, known) for half in self.settings.half_lives]
            for member, seed in enumerate(self._seeds(len(next(iter(params.values()))))):
                jobs.append(
                    Job(
                        self.network,
                        select(params, member),
                        inputs,
                        targets,
                        training,
                        seed=seed,
                        weights=weights[member // self.settings.members],
                    )
                )
            places.append(entity)
        self._deploy(places, [result.params for result in train(jobs)])

    def _deploy(self, entities: Sequence[int], trained: Sequence[Params]) -> None:
        size = self.settings.members * self.groups
        for position, entity in enumerate(entities):
            self.params[entity] = stack(trained[position * size : (position + 1) * size])

    def _weights(
        self,
        half_life: float | None,
        ages: npt.NDArray[np.float64] | None,
        known: npt.NDArray[np.bool_],
    ) -> torch.Tensor | None:
        """What each sample counts, 1 on average; None: all alike."""
        if half_life is None or ages is None:
            return None
        weights = 0.5 ** (ages[known] / half_life)
        return torch.from_numpy((weights / weights.mean()).astype(np.float32))

    def _seeds(self, count: int) -> list[int]:
        return [int(seed) for seed in self.rng.integers(2**31, size=count)]
