"""Table 2: the instances, and the hyperparameters that are searched for each; and ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import product
from types import MappingProxyType
from typing import TypeAlias

from clearwatt.adaptive import AdaptiveSettings
from clearwatt.errors import ConfigurationError
from clearwatt.experiment.protocol import Phases
from clearwatt.experiment.records import ADAPTIVE
from clearwatt.own_code import is_own, short_name
from clearwatt.strategies import Strategy, strategy_by_name
from clearwatt.strategies.own import own_parameters, own_strategy
from clearwatt.strategies.replay import RealReplay


@dataclass(frozen=True)
class Approach:
    """An instance: the name of its strategy, and the rows of Table 2 that apply to it.

    Streams of one family train stacked, because their jobs have the same form. Options are given to
    the strategy and not searched.
    """

    strategy: str
    parameters: tuple[str, ...]
    family: str
    options: tuple[tuple[str, str], ...] = ()


INSTANCES: Mapping[str, Approach] = MappingProxyType(
    {
        "E": Approach("OnlineEWC", ("ewc_weight",), "penalty"),
        "F": Approach("FamiliarityReplay", ("ewc_weight",), "penalty"),
        "Ra": Approach("RandomReplay", ("replay_weight",), "replay"),
        "Re": Approach("RecentReplay", ("replay_weight", "recent_updates"), "replay"),
        "ReD": Approach("RecentReplayDecay", ("replay_weight", "recent_updates"), "replay"),
        # The paper generates from "these archived models", one pair for each completed update.
        "G": Approach(
            "GenerativeReplay", ("replay_weight",), "generative", options=(("archives", "all"),)
        ),
    }
)
ROWS = (*INSTANCES, ADAPTIVE)
"""Keys of everything built in that an experiment can run: the paper's instances, and ours."""


@dataclass(frozen=True)
class Configuration:
    """One point of the grid: an instance with its hyperparameters, in the order of Table 2."""

    instance: str
    novelty_capacity: int
    alpha: float
    parameters: tuple[tuple[str, float], ...]

    @property
    def approach(self) -> Approach:
        """The approach of the instance."""
        return approach_of(self.instance)

    @property
    def strategy(self) -> Strategy:
        """The approach with these hyperparameters."""
        if is_own(self.instance):
            return own_strategy(self.instance, dict(self.parameters))
        return strategy_by_name(self.approach.strategy, self.strategy_parameters)

    @property
    def strategy_parameters(self) -> dict[str, float | str]:
        """All parameters of the strategy, searched or not."""
        return {**dict(self.approach.options), **dict(self.parameters)}

    @property
    def beginning(self) -> tuple[object, ...]:
        """Equal for configurations whose first updates are the same.

        All real replay draws the same samples at the first update. That of the last updates is the
        same whatever their number until there are as many.
        """
        if not isinstance(self.strategy, RealReplay):
            return (self,)
        others = tuple(pair for pair in self.parameters if pair[0] != "recent_updates")
        return (self.approach.family, self.novelty_capacity, self.alpha, others)

    def to_dict(self) -> dict[str, float]:
        """The hyperparameters by name."""
        return {
            "novelty_capacity": self.novelty_capacity,
            "alpha": self.alpha,
            **dict(self.parameters),
        }


ADAPTIVE_MEMORY = 60_000
"""Samples that the adaptive forecaster holds at most in an experiment. Random Replay holds 64,764
on the simulated grid. A service holds fewer, because it has more entities."""


@dataclass(frozen=True)
class AdaptiveConfiguration:
    """The adaptive forecaster with its defaults but for the memory; nothing is searched."""

    settings: AdaptiveSettings = field(
        default_factory=lambda: AdaptiveSettings(memory=ADAPTIVE_MEMORY)
    )

    @property
    def instance(self) -> str:
        """Its key among the instances."""
        return ADAPTIVE

    @property
    def approach(self) -> str:
        """Name of the approach in the records."""
        return "Adaptive"

    def to_dict(self) -> dict[str, float]:
        """No hyperparameters."""
        return {}


TrialConfiguration: TypeAlias = Configuration | AdaptiveConfiguration

_SHARED_ROWS = {"novelty_capacity", "alpha", "capacity_scale"}
"""Fields of the grid that are no hyperparameters of a strategy."""
MIN_CAPACITY = 200
"""Least capacity of a scaled novelty buffer; fewer samples do not describe a change."""


@dataclass(frozen=True)
class Grid:
    """Candidate values; the defaults are Table 2.

    ``capacity_scale`` multiplies the capacities, which were chosen for the paper's number of
    updating samples; None: the share of these that the data set has, at most 1.
    """

    novelty_capacity: tuple[int, ...] = (3_000, 5_000)
    alpha: tuple[float, ...] = (0.9, 1.3)
    ewc_weight: tuple[float, ...] = (1e4, 5e4, 5e5)
    replay_weight: tuple[float, ...] = (0.5, 1.0, 1.5)
    recent_updates: tuple[int, ...] = (3, 5, 7)
    capacity_scale: float | None = 1.0

    def __post_init__(self) -> None:
        if self.capacity_scale is not None and not 0 < self.capacity_scale <= 1:
            raise ConfigurationError(
                f"capacity_scale is {self.capacity_scale}; it must be above 0 and at most 1"
            )

    def scale_to(self, updating: int) -> Grid:
        """The grid with a fixed scale, for this number of updating samples."""
        if self.capacity_scale is not None:
            return self
        return replace(self, capacity_scale=round(min(1.0, updating / Phases().updating), 4))

    @property
    def capacities(self) -> tuple[int, ...]:
        """The candidates for the novelty capacity, scaled."""
        scale = 1.0 if self.capacity_scale is None else self.capacity_scale
        scaled = [
            min(each, max(MIN_CAPACITY, round(scale * each))) for each in self.novelty_capacity
        ]
        return tuple(dict.fromkeys(scaled))

    def trials(self, row: str) -> tuple[TrialConfiguration, ...]:
        """Every configuration that is tried for a row; the adaptive forecaster has one."""
        return (AdaptiveConfiguration(),) if row == ADAPTIVE else self.configurations(row)

    def configurations(self, instance: str) -> tuple[Configuration, ...]:
        """Every combination for an instance of the paper, or of a user's own."""
        names = approach_of(instance).parameters
        axes: Sequence[tuple[float, ...]] = [getattr(self, name) for name in names]
        return tuple(
            Configuration(instance, capacity, alpha, tuple(zip(names, values, strict=True)))
            for capacity in self.capacities
            for alpha in self.alpha
            for values in product(*axes)
        )


def approach_of(instance: str) -> Approach:
    """The approach of an instance: one of the paper's, or "package.module:name".

    Of the hyperparameters of a user's own, those with a name of Table 2 are searched.
    """
    if instance in INSTANCES:
        return INSTANCES[instance]
    if not is_own(instance):
        raise ConfigurationError(
            f"instance {instance!r} is unknown; choose from {', '.join(ROWS)}, or name a strategy "
            "of your own as package.module:name"
        )
    searched = {each.name for each in fields(Grid)} - _SHARED_ROWS
    names = tuple(name for name in own_parameters(instance) if name in searched)
    return Approach(short_name(instance), names, family=instance)
