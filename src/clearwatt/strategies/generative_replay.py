"""Generative Replay: the models of the last update generate samples of the past."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, get_args

import numpy as np
import torch
from torch import Tensor

from clearwatt.errors import require_whole
from clearwatt.strategies.base import (
    Archive,
    Batch,
    Objective,
    State,
    Strategy,
    Update,
    WarmUpResult,
    check_replay,
    replay_objective,
    require,
)
from clearwatt.strategies.latent import Density, draw_latents, fit_density
from clearwatt.training.networks import Params, Reconstructor


@dataclass(frozen=True)
class GenerativeReplay(Strategy):
    """Equation 2 on pseudo samples; both components update together; no sample is kept.

    Latents are drawn from a density of the aggregated posterior, the archived decoder turns them
    into inputs and the archived predictor into targets. The archived models are the deployed ones:
    they are not replaced before the update is done.

    Args:
        replay_weight: λ_R, weight of the generated samples' loss.
        density: "prior" (the paper's N(0, I)), "gaussian" or "mixture"; see docs/decisions.md.
        components: Gaussians of the mixture.
        replay_size: samples to generate; None for the novelty capacity.
        fit_samples: maximum number of latents that a density is fitted on.
    """

    replay_weight: float = 1.0
    density: Density = "mixture"
    components: int = 64
    replay_size: int | None = None
    fit_samples: int = 8_000
    synchronous: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_replay(self.replay_weight, self.replay_size)
        require(
            self.density in get_args(Density),
            f"density is {self.density!r}; choose one of {', '.join(get_args(Density))}",
        )
        require_whole(components=self.components, fit_samples=self.fit_samples)
        require(
            self.fit_samples >= 2,
            f"fit_samples is {self.fit_samples}; a spread takes at least 2 latents",
        )

    def initial_state(self, warmup: WarmUpResult) -> State:
        """The latent density of the warm-up data."""
        if not isinstance(warmup.network, Reconstructor):
            return {}
        data = _subset(warmup.data.inputs, self.fit_samples, warmup.rng)
        latents = warmup.network.encode(warmup.params, data[None])[0]
        return self._fit(latents, seen=warmup.data.size, rng=warmup.rng)

    def generate(self, archive: Archive, count: int, rng: np.random.Generator) -> Batch:
        """Inputs and targets made from the same latents."""
        latents = draw_latents(archive.state, self.replay_size or count, rng)
        return Batch(archive.decode(latents), archive.predict(latents))

    def objective(self, update: Update) -> Objective:
        """Novelty samples and generated ones."""
        require(update.generated is not None, "Generative Replay needs synchronous updates")
        generated = update.generated or update.novelty
        return replay_objective(update.novelty, generated, self.replay_weight)

    def consolidate(self, update: Update, params: Params) -> State:
        """Refit the density on generated past and real present samples, in true proportion."""
        network = update.network
        if not isinstance(network, Reconstructor):
            return {}
        present = (update.novelty + update.familiarity).inputs
        seen = int(update.state["seen"])
        share = len(present) / (seen + len(present))
        recent = _subset(present, max(1, round(share * self.fit_samples)), update.rng)
        count = round(len(recent) * seen / len(present))
        generated = draw_latents(update.state, count, update.rng)
        past = network.decode(update.params, generated[None])[0]
        latents = network.encode(params, torch.cat([past, recent])[None])[0]
        return self._fit(latents, seen=seen + len(present), rng=update.rng)

    def _fit(self, latents: Tensor, *, seen: int, rng: np.random.Generator) -> State:
        seed = int(rng.integers(2**31))
        state = fit_density(latents, self.density, components=self.components, seed=seed)
        return state | {"seen": torch.tensor([seen])}


def _subset(inputs: Tensor, count: int, rng: np.random.Generator) -> Tensor:
    chosen = rng.permutation(len(inputs))[:count]
    return inputs[torch.from_numpy(np.sort(chosen))]
