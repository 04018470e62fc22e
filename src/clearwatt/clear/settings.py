"""How an instance detects novelty and learns from it."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch

from clearwatt.clear.gate import Gate
from clearwatt.errors import ConfigurationError, require_whole
from clearwatt.strategies import RecentReplay, Strategy
from clearwatt.training.fleet import UPDATE, Training


@dataclass(frozen=True)
class ClearSettings:
    """How an instance detects novelty and learns from it.

    Args:
        strategy: The continual-learning approach.
        novelty_capacity: Number of novel samples that triggers an update.
        alpha: Threshold factor; smaller is more sensitive.
        familiarity_capacity: Capacity of the familiarity buffers; None: all since the last update.
        update: How an update trains.
        seed: Seed of all randomness of the instance.
        precise: Compute verdicts in double precision, so that they do not depend on the blocks of
            the stream; judging takes about twice as long.
        gate: Condition for deploying a trained model; None: it is always deployed.
        equal_epochs: Train autoencoders of single entities for all epochs of `update`, as shared
            ones; otherwise `update.work` limits them.
    """

    strategy: Strategy = field(default_factory=RecentReplay)
    novelty_capacity: int = 3000
    alpha: float = 1.3
    familiarity_capacity: int | None = None
    update: Training = UPDATE
    seed: int = 0
    precise: bool = False
    gate: Gate | None = None
    equal_epochs: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.strategy, Strategy):
            raise ConfigurationError(
                f"strategy is {self.strategy!r}; give an instance such as RecentReplay()"
            )
        if not isinstance(self.gate, Gate | None):
            raise ConfigurationError(f"gate is {self.gate!r}; give a Gate(), or None for no gate")
        if self.strategy.trains_jointly and self.gate is not None:
            raise ConfigurationError(
                "models that train as one network cannot be compared one by one; use no gate "
                "(gate=None, gate_margin null in a service), or joint=False"
            )
        require_whole(novelty_capacity=self.novelty_capacity)
        if self.familiarity_capacity is not None:
            require_whole(familiarity_capacity=self.familiarity_capacity)
        if not 0 < self.alpha < float("inf"):
            raise ConfigurationError(
                f"alpha is {self.alpha}; the threshold factor must be above 0 and finite"
            )

    @property
    def dtype(self) -> torch.dtype:
        """Precision of the verdicts; models train and are stored in single precision."""
        return torch.float64 if self.precise else torch.float32
