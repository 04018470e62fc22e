"""Every conformance check holds for every built-in strategy, and every check can fail."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
import pytest
import torch

from clearwatt import testing
from clearwatt.errors import ConfigurationError
from clearwatt.strategies import (
    STRATEGIES,
    Access,
    FamiliarityReplay,
    FineTune,
    Frozen,
    GenerativeReplay,
    Objective,
    OnlineEWC,
    RandomReplay,
    RecentReplay,
    RecentReplayDecay,
    State,
    Strategy,
    Update,
    WarmUpResult,
    strategy_by_name,
)
from clearwatt.strategies.base import replay_objective

# Fewer latents and Gaussians than the defaults: the same code, a tenth of the time.
LIGHT = {"GenerativeReplay": GenerativeReplay(fit_samples=500, components=4)}
BUILT_IN = [LIGHT.get(name) or strategy_by_name(name) for name in STRATEGIES]
VARIANTS = [
    RecentReplay(recent_updates=1),
    RecentReplayDecay(recent_updates=2, replay_size=7),
    RandomReplay(replay_weight=0.01, replay_size=1000),
    OnlineEWC(ewc_weight=1.0, gamma=0.0),
    FamiliarityReplay(familiar_share=1.0, gamma=1.0),
    GenerativeReplay(density="prior"),
    GenerativeReplay(density="gaussian", fit_samples=500, replay_size=5),
    GenerativeReplay(density="gaussian", fit_samples=500, joint=True),
]

Check = Callable[[Strategy], None]


def _name(value: object) -> str:
    return value.__name__ if callable(value) else type(value).__name__


@pytest.mark.parametrize("check", testing.STRATEGY_CHECKS, ids=_name)
@pytest.mark.parametrize("strategy", BUILT_IN, ids=_name)
def test_built_in_strategy(strategy: Strategy, check: Check) -> None:
    check(strategy)


@pytest.mark.parametrize("strategy", VARIANTS, ids=repr)
def test_other_hyperparameters(strategy: Strategy) -> None:
    testing.check_strategy(strategy)


def test_every_check_is_in_the_list_and_public() -> None:
    public = {name for name in testing.__all__ if name.startswith("check_")}
    others = {"check_strategy", "check_executor", "check_store", "check_forecaster"}
    others |= {check.__name__ for check in testing.STORE_CHECKS}
    assert {check.__name__ for check in testing.STRATEGY_CHECKS} == public - others


@dataclass(frozen=True)
class UnseededStart(OnlineEWC):
    """Its state starts from a random number nobody seeded."""

    def initial_state(self, warmup: WarmUpResult) -> State:
        noise = np.random.default_rng().random()
        return super().initial_state(warmup) | {"noise": torch.tensor([noise])}

    def consolidate(self, update: Update, params: dict[str, torch.Tensor]) -> State:
        return super().consolidate(update, params) | {"noise": update.state["noise"]}


@dataclass(frozen=True)
class WeightlessReplay(RandomReplay):
    """Replays samples that count nothing."""

    def objective(self, update: Update) -> Objective:
        objective = super().objective(update)
        assert objective.weights is not None
        weights = objective.weights.clone()
        weights[update.novelty.size :] = 0
        return replace(objective, weights=weights)


@dataclass(frozen=True)
class ZeroFisher(OnlineEWC):
    """Its Fisher information is zero, and so is its penalty."""

    def initial_state(self, warmup: WarmUpResult) -> State:
        return {k: torch.zeros_like(v) for k, v in super().initial_state(warmup).items()}


@dataclass(frozen=True)
class ForgottenPenalty(OnlineEWC):
    """Leaves the penalty out."""

    def objective(self, update: Update) -> Objective:
        return Objective(update.novelty)


@dataclass(frozen=True)
class Peeking(OnlineEWC):
    """Declares no access, asks anyway and makes do with the refusal."""

    def objective(self, update: Update) -> Objective:
        try:
            update.past.replay("random", 5)
        except (ConfigurationError, AssertionError):
            return super().objective(update)
        raise AssertionError("it was given a past it must not see")


@dataclass(frozen=True)
class PeekingWhenConsolidating(FamiliarityReplay):
    """Looks for a history behind the past's back, after the update."""

    def consolidate(self, update: Update, params: dict[str, torch.Tensor]) -> State:
        assert getattr(update.past, "_history", None) is None
        return super().consolidate(update, params)


@dataclass(frozen=True)
class Hoarding(FineTune):
    """Collects the novelty of every update in its state."""

    def initial_state(self, warmup: WarmUpResult) -> State:
        return {"hoard": warmup.data.inputs[:0]}

    def consolidate(self, update: Update, params: dict[str, torch.Tensor]) -> State:
        return {"hoard": torch.cat([update.state["hoard"], update.novelty.inputs])}


@dataclass(frozen=True)
class RecentWithoutWindow(RandomReplay):
    """Declares the recent past, but not how much of it."""

    access: ClassVar[Access] = Access.RECENT


@dataclass(frozen=True)
class CountsOnItself(RandomReplay):
    """Remembers in itself, not in its state, how often the autoencoder was updated."""

    @cached_property
    def counts(self) -> list[int]:
        return [0]

    def objective(self, update: Update) -> Objective:
        if update.component == "predictor":
            return super().objective(update)
        self.counts[0] += 1
        replay = update.past.replay("random", update.capacity)
        return replay_objective(update.novelty, replay, float(self.counts[0]))


@dataclass(frozen=True)
class ShrinksInPlace(RandomReplay):
    """Shrinks the deployed weights where they are, before it trains on from them."""

    def objective(self, update: Update) -> Objective:
        for tensor in update.params.values():
            tensor.mul_(0.5)
        return super().objective(update)


@dataclass(frozen=True)
class SharedState(RandomReplay):
    """Its predictors share one tensor and add to it in place."""

    @cached_property
    def shared(self) -> torch.Tensor:
        return torch.ones(1)

    def initial_state(self, warmup: WarmUpResult) -> State:
        return {"sum": self.shared} if warmup.component == "predictor" else {}

    def objective(self, update: Update) -> Objective:
        weight = float(update.state["sum"]) if update.component == "predictor" else 1.0
        replay = update.past.replay("random", update.capacity)
        return replay_objective(update.novelty, replay, weight)

    def consolidate(self, update: Update, params: dict[str, torch.Tensor]) -> State:
        for tensor in update.state.values():
            tensor.mul_(3)
        return update.state


# Strategy, the check it fails, and what the failure says.
BROKEN: list[tuple[Strategy, str, str]] = [
    (UnseededStart(), "check_seeded_repeatability", "state.noise of the autoencoder"),
    (WeightlessReplay(), "check_effect_on_training", "check their weights"),
    (ZeroFisher(), "check_effect_on_training", "penalty's gradient is zero"),
    (OnlineEWC(ewc_weight=0), "check_effect_on_training", "penalty's gradient is zero"),
    (ForgottenPenalty(), "check_effect_on_training", "neither penalty nor replay"),
    (Peeking(), "check_history_access", "touched past.replay when the autoencoder"),
    (PeekingWhenConsolidating(), "check_history_access", "touched past._history"),
    (Hoarding(), "check_memory_bound", "the state kept for the autoencoder grew"),
    (RecentWithoutWindow(), "check_memory_bound", "but no window"),
    (CountsOnItself(), "check_save_and_resume", "keep everything in its State"),
    (ShrinksInPlace(), "check_one_by_one_equals_blocks", "one by one and in one block differ"),
    (SharedState(), "check_stacked_equals_single", "mixes entities"),
]


def _failures(strategy: Strategy) -> Iterator[tuple[str, str]]:
    for check in testing.STRATEGY_CHECKS:
        try:
            check(strategy)
        except AssertionError as error:
            yield check.__name__, str(error)


@pytest.mark.parametrize(
    ("strategy", "check", "says"), BROKEN, ids=[type(strategy).__name__ for strategy, *_ in BROKEN]
)
def test_broken_strategy_fails_exactly_its_check(strategy: Strategy, check: str, says: str) -> None:
    failures = dict(_failures(strategy))
    assert list(failures) == [check]
    assert says in failures[check]
    assert type(strategy).__name__ in failures[check]


def test_every_check_has_a_strategy_that_fails_it() -> None:
    assert {check for _, check, _ in BROKEN} == {c.__name__ for c in testing.STRATEGY_CHECKS}


def test_check_strategy_stops_at_the_first_failure() -> None:
    with pytest.raises(AssertionError, match="neither penalty nor replay"):
        testing.check_strategy(ForgottenPenalty())


def test_checks_leave_the_strategy_as_it_was() -> None:
    strategy = CountsOnItself()
    testing.check_seeded_repeatability(strategy)
    assert strategy.counts == [0]


def test_a_strategy_that_never_updates_conforms() -> None:
    testing.check_strategy(Frozen())
