"""Batches, Equation 2 as weights on one set, and approaches by name."""

import pytest
import torch

from clearwatt.errors import ConfigurationError
from clearwatt.strategies import (
    STRATEGIES,
    Batch,
    OnlineEWC,
    RecentReplayDecay,
    strategy_by_name,
)
from clearwatt.strategies.base import replay_objective


def numbers(start: int, stop: int, *, labelled: bool) -> Batch:
    inputs = torch.arange(start, stop, dtype=torch.float32)[:, None]
    return Batch(inputs, -inputs if labelled else None)


@pytest.mark.parametrize("labelled", [True, False])
def test_batches_join_in_order(labelled):
    both = numbers(0, 3, labelled=labelled) + numbers(3, 5, labelled=labelled)
    assert both.size == 5
    assert both.inputs[:, 0].tolist() == [0, 1, 2, 3, 4]
    assert (both.targets is not None) == labelled
    picked = both.at(torch.tensor([4, 0]))
    assert picked.inputs[:, 0].tolist() == [4, 0]
    assert picked.targets is None or picked.targets[:, 0].tolist() == [-4, 0]


@pytest.mark.parametrize(("novel", "replayed", "weight"), [(4, 9, 0.25), (7, 2, 3.0), (5, 5, 1.0)])
def test_weights_make_the_mean_over_all_equation_2(novel, replayed, weight):
    """L_N + λ_R · L_R, each a mean over its own samples."""
    losses = torch.rand(novel + replayed, generator=torch.Generator().manual_seed(0))
    objective = replay_objective(
        numbers(0, novel, labelled=True), numbers(0, replayed, labelled=True), weight
    )
    wanted = losses[:novel].mean() + weight * losses[novel:].mean()
    assert (objective.weights * losses).mean() == pytest.approx(float(wanted), rel=1e-6)
    assert objective.replayed == replayed


def test_nothing_replayed_is_the_plain_mean():
    objective = replay_objective(numbers(0, 4, labelled=True), numbers(0, 0, labelled=True), 2.0)
    assert objective.weights.tolist() == [1, 1, 1, 1]
    assert objective.replayed == 0


@pytest.mark.parametrize("name", STRATEGIES)
def test_every_approach_has_its_name(name):
    assert type(strategy_by_name(name)) is STRATEGIES[name]


@pytest.mark.parametrize(
    "name", ["recent-replay-decay", "RECENT_REPLAY_DECAY", "recent replay decay"]
)
def test_names_may_be_spelt_freely(name):
    assert strategy_by_name(name, {"recent_updates": 2}) == RecentReplayDecay(recent_updates=2)


def test_an_unknown_name_lists_the_known():
    with pytest.raises(ConfigurationError, match=r"'dreaming' is unknown.*OnlineEWC.*Retrain"):
        strategy_by_name("dreaming")


def test_an_unknown_parameter_lists_the_known():
    with pytest.raises(ConfigurationError, match="no parameter 'lambda'; it has ewc_weight, gamma"):
        strategy_by_name("OnlineEWC", {"lambda": 3})


def test_approaches_are_values():
    assert OnlineEWC(gamma=0.5) == OnlineEWC(gamma=0.5) != OnlineEWC()
