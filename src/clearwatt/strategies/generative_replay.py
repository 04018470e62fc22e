"""Generative Replay: the models of the last update generate samples of the past."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import reduce
from typing import ClassVar, Literal, get_args

import numpy as np
import torch
from torch import Tensor

from clearwatt.errors import require_whole
from clearwatt.packing import ADDED
from clearwatt.strategies.base import (
    Archive,
    Batch,
    Objective,
    State,
    Strategy,
    Update,
    WarmUpResult,
    Weighting,
    check_replay,
    replay_objective,
    require,
)
from clearwatt.strategies.latent import Density, draw_latents, fit_density
from clearwatt.training.networks import Params, Reconstructor

Archives = Literal["last", "all"]
DENSITY = ("weights", "means", "factors")
"""Tensors of a density."""
WEIGHTS = "model."
"""Begins the names of archived weights."""


@dataclass(frozen=True)
class GenerativeReplay(Strategy):
    """Equation 2 on pseudo samples; both components update together; no sample is kept.

    Latents are drawn from a density of the aggregated posterior, the archived decoder turns them
    into inputs and the archived predictor into targets. With `archives="last"`, the archived models
    are the deployed ones: they are not replaced before the update is done, and their density is
    that of all samples so far. With "all", the models of every update are kept, each with the
    density of its own window and a share of the samples in proportion to it. Labels are then not
    copied from copy to copy, and the state grows with every update.

    Args:
        replay_weight: λ_R, weight of the generated samples' loss.
        density: "prior" (the paper's N(0, I)), "gaussian" or "mixture"; see docs/decisions.md.
        components: Gaussians of the mixture.
        replay_size: samples to generate; None for the novelty capacity.
        fit_samples: maximum number of latents that a density is fitted on.
        archives: "last" or "all".
        weighting: "count": the generated set weighs λ_R times as much as all samples so far.
        joint: whether both components train as one network, so that forecasts shape the latents,
            too; otherwise the autoencoder trains first, then the predictor on its latents.
    """

    replay_weight: float = 1.0
    density: Density = "mixture"
    components: int = 64
    replay_size: int | None = None
    fit_samples: int = 8_000
    archives: Archives = "last"
    weighting: Weighting = "equal"
    joint: bool = field(default=False, metadata=ADDED)
    synchronous: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_replay(self.replay_weight, self.replay_size, self.weighting)
        require(
            self.archives in get_args(Archives),
            f"archives is {self.archives!r}; choose one of {', '.join(get_args(Archives))}",
        )
        require(
            self.density in get_args(Density),
            f"density is {self.density!r}; choose one of {', '.join(get_args(Density))}",
        )
        require_whole(components=self.components, fit_samples=self.fit_samples)
        require(
            self.fit_samples >= 2,
            f"fit_samples is {self.fit_samples}; a spread takes at least 2 latents",
        )

    @property
    def trains_jointly(self) -> bool:
        """As `joint` says."""
        return self.joint

    def initial_state(self, warmup: WarmUpResult) -> State:
        """The latent density of the warm-up data, and the models if all are kept."""
        if not isinstance(warmup.network, Reconstructor):
            return archive_weights(warmup.params) if self.archives == "all" else {}
        data = _subset(warmup.data.inputs, self.fit_samples, warmup.rng)
        latents = warmup.network.encode(warmup.params, data[None])[0]
        state = self._fit(latents, seen=warmup.data.size, rng=warmup.rng)
        return state if self.archives == "last" else self._archive(state, warmup.params)

    def generate(self, archive: Archive, count: int, rng: np.random.Generator) -> Batch:
        """Inputs and targets made from the same latents."""
        wanted = self.replay_size or count
        if self.archives == "last":
            latents = draw_latents(archive.state, wanted, rng)
            return Batch(archive.decode(latents), archive.predict(latents))
        return generate_from_all(archive, wanted, rng)

    def objective(self, update: Update) -> Objective:
        """Novelty samples and generated ones."""
        require(update.generated is not None, "Generative Replay needs synchronous updates")
        generated = update.generated or update.novelty
        stands_for: int | None = None
        if self.weighting == "count":
            known = update.state if update.encoder is None else update.encoder
            stands_for = int(known["seen"].sum())
        return replay_objective(
            update.novelty, generated, self.replay_weight, stands_for=stands_for
        )

    def consolidate(self, update: Update, params: Params) -> State:
        """Refit the density on generated past and real present samples, in true proportion.

        If all archives are kept: add one with the density of the present samples.
        """
        network = update.network
        if not isinstance(network, Reconstructor):
            return self._consolidate_predictor(update, params)
        present = (update.novelty + update.familiarity).inputs
        if self.archives == "all":
            latents = network.encode(params, _subset(present, self.fit_samples, update.rng)[None])[
                0
            ]
            newest = self._archive(self._fit(latents, seen=len(present), rng=update.rng), params)
            return {name: torch.cat([kept, newest[name]]) for name, kept in update.state.items()}
        seen = int(update.state["seen"])
        share = len(present) / (seen + len(present))
        recent = _subset(present, max(1, round(share * self.fit_samples)), update.rng)
        count = round(len(recent) * seen / len(present))
        generated = draw_latents(update.state, count, update.rng)
        past = network.decode(update.params, generated[None])[0]
        latents = network.encode(params, torch.cat([past, recent])[None])[0]
        return self._fit(latents, seen=seen + len(present), rng=update.rng)

    def _consolidate_predictor(self, update: Update, params: Params) -> State:
        """The predictors of all archives; none is added if the autoencoder was refused.

        An archive whose own predictor was refused has the one that went on serving.
        """
        if self.archives == "last" or update.encoder is None:
            return update.state
        earlier = len(update.encoder["seen"]) - 1
        newest = archive_weights(params)
        return {
            name: torch.cat([*_repeat_last(kept, earlier), newest[name]])
            for name, kept in update.state.items()
        }

    def _archive(self, density: State, params: Params) -> State:
        """A density and the weights of its autoencoder, to be stacked over updates."""
        missing = (self.components if self.density == "mixture" else 1) - len(density["weights"])
        padded = {
            name: torch.cat(
                [density[name], density[name].new_zeros(missing, *density[name].shape[1:])]
            )
            for name in DENSITY
        }
        stacked = {name: tensor[None] for name, tensor in padded.items()}
        return {**stacked, "seen": density["seen"], **archive_weights(params)}

    def _fit(self, latents: Tensor, *, seen: int, rng: np.random.Generator) -> State:
        seed = int(rng.integers(2**31))
        state = fit_density(latents, self.density, components=self.components, seed=seed)
        return state | {"seen": torch.tensor([seen])}


def archive_weights(params: Params) -> State:
    """Weights under the names that an archive has them by."""
    return {f"{WEIGHTS}{name}": tensor for name, tensor in params.items()}


def generate_from_all(archive: Archive, count: int, rng: np.random.Generator) -> Batch:
    """Pseudo samples by the models of every update, in proportion to what each has seen."""
    seen = archive.state["seen"].double().numpy()
    parts = []
    for place, own in enumerate(rng.multinomial(count, seen / seen.sum()).tolist()):
        density = {name: archive.state[name][place] for name in DENSITY}
        latents = draw_latents(density, own, rng)
        decoder, predictor = (
            archived_weights(state, place) for state in (archive.state, archive.predictor_state)
        )
        parts.append(Batch(archive.decode(latents, decoder), archive.predict(latents, predictor)))
    return reduce(Batch.__add__, parts)


def archived_weights(state: State, place: int) -> Params | None:
    """The weights of one archive, 1 x ...; None (the deployed ones) if it has none."""
    own = {
        name.removeprefix(WEIGHTS): tensor[place : place + 1]
        for name, tensor in state.items()
        if name.startswith(WEIGHTS) and place < len(tensor)
    }
    return own or None


def _repeat_last(kept: Tensor, count: int) -> list[Tensor]:
    """The first `count` entries; the last one stands for those that are missing."""
    return [kept[:count], kept[-1:].repeat(max(0, count - len(kept)), *[1] * (kept.dim() - 1))]


def _subset(inputs: Tensor, count: int, rng: np.random.Generator) -> Tensor:
    chosen = rng.permutation(len(inputs))[:count]
    return inputs[torch.from_numpy(np.sort(chosen))]
