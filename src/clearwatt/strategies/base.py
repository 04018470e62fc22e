"""The interface of a continual-learning approach: an objective per update, and its state."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar, Literal, NamedTuple, Protocol, get_args

import numpy as np
import torch
from torch import Tensor

from clearwatt.errors import ConfigurationError, require_whole
from clearwatt.memory import Policy
from clearwatt.training.fleet import Penalty
from clearwatt.training.networks import Network, Params

Weighting = Literal["equal", "count"]
"""Weight of a replay set: that of λ_R, or λ_R times the number of samples that it stands for."""
ComponentName = Literal["autoencoder", "predictor"]
State = dict[str, Tensor]

LARGEST_WEIGHT = 1e12
"""Upper limit of weights in a loss; losses are in single precision, which ends at 3e38."""


class Access(StrEnum):
    """How much of the past an approach may use in an update."""

    NONE = "none"
    RECENT = "recent"
    ALL = "all"


class Batch(NamedTuple):
    """Samples as a network sees them: inputs (n x d), targets (n x o; None: the inputs)."""

    inputs: Tensor
    targets: Tensor | None

    def __add__(self, other: object) -> Batch:
        """Both batches, one after the other."""
        if not isinstance(other, Batch):
            return NotImplemented
        targets = None
        if self.targets is not None and other.targets is not None:
            targets = torch.cat([self.targets, other.targets])
        return Batch(torch.cat([self.inputs, other.inputs]), targets)

    @property
    def size(self) -> int:
        """Number of samples."""
        return len(self.inputs)

    def at(self, index: Tensor) -> Batch:
        """The samples at these positions."""
        return Batch(self.inputs[index], None if self.targets is None else self.targets[index])


class Past(ABC):
    """The part of a component's history that the approach may use."""

    @abstractmethod
    def replay(self, policy: Policy, budget: int) -> Batch:
        """Draw a replay set by Algorithm 1, 2 or 3."""

    @abstractmethod
    def count(self) -> int:
        """Number of samples that a replay set is drawn from."""

    @abstractmethod
    def everything(self) -> Batch:
        """Every sample observed so far, the open window included."""


@dataclass(frozen=True, eq=False)
class WarmUpResult:
    """Input of an approach when the warm-up model of a component is deployed."""

    component: ComponentName
    network: Network
    params: Params
    data: Batch
    rng: np.random.Generator


@dataclass(frozen=True, eq=False)
class Update:
    """Input of an approach when a component updates.

    ``params`` are the deployed weights, which the last update consolidated.
    ``generated`` are pseudo samples of the past, for approaches that make them.
    ``encoder`` is the state of the autoencoder, for the predictor of a synchronous approach: as it
    was while the objective is made, as the update leaves it when the predictor is consolidated.
    """

    component: ComponentName
    network: Network
    params: Params
    state: State
    novelty: Batch
    familiarity: Batch
    past: Past
    capacity: int
    rng: np.random.Generator
    generated: Batch | None = None
    encoder: State | None = None


@dataclass(frozen=True, eq=False)
class Objective:
    """The loss of an update: weighted samples and, optionally, a penalty on moving weights."""

    data: Batch
    weights: Tensor | None = None
    penalty: Penalty | None = None
    replayed: int = 0


class LatentMap(Protocol):
    """Maps latents (n x z) by the deployed weights of a network, or by others."""

    def __call__(self, latents: Tensor, params: Params | None = None) -> Tensor:
        """The outputs, n x o."""


@dataclass(frozen=True, eq=False)
class Archive:
    """The models of the last update, from which pseudo samples of the past can be generated.

    ``state`` is the approach's state for the autoencoder, ``predictor_state`` that for the
    predictor; ``decode`` maps latents (n x z) to inputs (n x d), ``predict`` to targets (n x o).
    """

    state: State
    decode: LatentMap
    predict: LatentMap
    predictor_state: State = field(default_factory=dict)


class Strategy(ABC):
    """A continual-learning approach; subclasses are frozen dataclasses of its hyperparameters."""

    access: ClassVar[Access] = Access.NONE
    synchronous: ClassVar[bool] = False
    updates: ClassVar[bool] = True

    @abstractmethod
    def objective(self, update: Update) -> Objective:
        """The loss to minimise when a novelty buffer is full."""

    def initial_state(self, warmup: WarmUpResult) -> State:
        """The state after the warm-up."""
        return {}

    def consolidate(self, update: Update, params: Params) -> State:
        """The state after `params` are deployed."""
        return update.state

    def generate(self, archive: Archive, count: int, rng: np.random.Generator) -> Batch | None:
        """Pseudo inputs and targets of the past (synchronous approaches)."""
        return None

    @property
    def trains_jointly(self) -> bool:
        """Whether autoencoder and predictor train as one network (synchronous approaches)."""
        return False

    @property
    def window(self) -> int | None:
        """Number of closed update windows to keep; None: all, if there is access."""
        return None


def replay_objective(
    novelty: Batch, replay: Batch, replay_weight: float, *, stands_for: int | None = None
) -> Objective:
    """Equation 2, L_N + λ_R · L_R, each a mean over its own samples, as weights on one set.

    Args:
        novelty: Samples of L_N.
        replay: Samples of L_R.
        replay_weight: λ_R.
        stands_for: Number of past samples; λ_R is then their number for each novelty sample.
    """
    share = 1.0 if stands_for is None else stands_for / max(novelty.size, 1)
    total = novelty.size + replay.size
    parts = [
        torch.full((batch.size,), weight * total / max(batch.size, 1))
        for batch, weight in ((novelty, 1.0), (replay, replay_weight * share))
    ]
    return Objective(novelty + replay, weights=torch.cat(parts), replayed=replay.size)


def check_replay(
    replay_weight: float, replay_size: int | None, weighting: Weighting = "equal"
) -> None:
    """Refuse an invalid weight or size of a replay."""
    check_weighting(weighting)
    require(
        0 < replay_weight <= LARGEST_WEIGHT,
        f"replay_weight is {replay_weight}; it must be above 0 and at most {LARGEST_WEIGHT:g}",
    )
    if replay_size is not None:
        require_whole(replay_size=replay_size)


def check_weighting(weighting: Weighting) -> None:
    """Refuse an unknown weighting."""
    require(
        weighting in get_args(Weighting),
        f"weighting is {weighting!r}; choose one of {', '.join(get_args(Weighting))}",
    )


def require(condition: bool, message: str) -> None:
    """Raise a ConfigurationError unless the condition holds."""
    if not condition:
        raise ConfigurationError(message)
