"""The approaches: six of the paper, three references, and how to name them."""

from collections.abc import Mapping
from inspect import signature

from clearwatt.errors import ConfigurationError
from clearwatt.strategies.base import (
    Access,
    Archive,
    Batch,
    ComponentName,
    Objective,
    Past,
    State,
    Strategy,
    Update,
    WarmUpResult,
)
from clearwatt.strategies.baselines import FineTune, Frozen, Retrain
from clearwatt.strategies.familiarity_replay import FamiliarityReplay
from clearwatt.strategies.generative_replay import GenerativeReplay
from clearwatt.strategies.online_ewc import OnlineEWC
from clearwatt.strategies.random_replay import RandomReplay
from clearwatt.strategies.recent_replay import RecentReplay
from clearwatt.strategies.recent_replay_decay import RecentReplayDecay

__all__ = [
    "STRATEGIES",
    "Access",
    "Archive",
    "Batch",
    "ComponentName",
    "FamiliarityReplay",
    "FineTune",
    "Frozen",
    "GenerativeReplay",
    "Objective",
    "OnlineEWC",
    "Past",
    "RandomReplay",
    "RecentReplay",
    "RecentReplayDecay",
    "Retrain",
    "State",
    "Strategy",
    "Update",
    "WarmUpResult",
    "strategy_by_name",
]

STRATEGIES: Mapping[str, type[Strategy]] = {
    kind.__name__: kind
    for kind in (
        OnlineEWC,
        FamiliarityReplay,
        RandomReplay,
        RecentReplay,
        RecentReplayDecay,
        GenerativeReplay,
        Frozen,
        FineTune,
        Retrain,
    )
}


def strategy_by_name(name: str, parameters: Mapping[str, object] | None = None) -> Strategy:
    """Make a built-in approach by name ("RandomReplay" or "random-replay")."""
    by_name = {_normalise(known): kind for known, kind in STRATEGIES.items()}
    kind = by_name.get(_normalise(name))
    if kind is None:
        raise ConfigurationError(
            f"strategy {name!r} is unknown; choose one of {', '.join(STRATEGIES)}"
        )
    given = dict(parameters or {})
    known = set(signature(kind).parameters)
    if unknown := sorted(set(given) - known):
        raise ConfigurationError(
            f"{kind.__name__} has no parameter {unknown[0]!r}; it has {', '.join(sorted(known))}"
        )
    return kind(**given)


def _normalise(name: str) -> str:
    return name.replace("-", "").replace("_", "").replace(" ", "").lower()
