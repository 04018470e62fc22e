"""The interface of a continual-learning approach: an objective per update, and its state."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor

from clearwatt.errors import ConfigurationError, require_whole
from clearwatt.memory import Policy
from clearwatt.training.fleet import Penalty
from clearwatt.training.networks import Network, Params

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


@dataclass(frozen=True, eq=False)
class Objective:
    """The loss of an update: weighted samples and, optionally, a penalty on moving weights."""

    data: Batch
    weights: Tensor | None = None
    penalty: Penalty | None = None
    replayed: int = 0


@dataclass(frozen=True, eq=False)
class Archive:
    """The models of the last update, from which pseudo samples of the past can be generated.

    ``state`` is the approach's state for the autoencoder; ``decode`` maps latents (n x z) to
    inputs (n x d), ``predict`` to targets (n x o).
    """

    state: State
    decode: Callable[[Tensor], Tensor]
    predict: Callable[[Tensor], Tensor]


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
    def window(self) -> int | None:
        """Number of closed update windows to keep; None: all, if there is access."""
        return None


def replay_objective(novelty: Batch, replay: Batch, replay_weight: float) -> Objective:
    """Equation 2, L_N + λ_R · L_R, each a mean over its own samples, as weights on one set."""
    total = novelty.size + replay.size
    parts = [
        torch.full((batch.size,), weight * total / max(batch.size, 1))
        for batch, weight in ((novelty, 1.0), (replay, replay_weight))
    ]
    return Objective(novelty + replay, weights=torch.cat(parts), replayed=replay.size)


def check_replay(replay_weight: float, replay_size: int | None) -> None:
    """Refuse an invalid weight or size of a replay."""
    require(
        0 < replay_weight <= LARGEST_WEIGHT,
        f"replay_weight is {replay_weight}; it must be above 0 and at most {LARGEST_WEIGHT:g}",
    )
    if replay_size is not None:
        require_whole(replay_size=replay_size)


def require(condition: bool, message: str) -> None:
    """Raise a ConfigurationError unless the condition holds."""
    if not condition:
        raise ConfigurationError(message)
