"""Familiarity-based Replay: a bounded subset, and importance from novelty alone."""

import pytest
import torch

from clearwatt.errors import ConfigurationError
from clearwatt.strategies import FamiliarityReplay
from clearwatt.strategies.online_ewc import fisher_information


def ones(params):
    return {name: torch.ones_like(tensor) for name, tensor in params.items()}


@pytest.mark.parametrize(
    ("share", "familiar", "wanted"),
    [(0.5, 20, 4), (1.0, 20, 8), (0.25, 20, 2), (1.0, 3, 3), (0.5, 0, 0)],
)
def test_the_subset_is_a_share_of_the_novelty(update, share, familiar, wanted):
    seen = update(novel=8, familiar=familiar, state=ones(update().params))
    objective = FamiliarityReplay(familiar_share=share).objective(seen)
    assert objective.replayed == wanted
    assert objective.data.size == 8 + wanted
    assert torch.equal(objective.data.inputs[:8], seen.novelty.inputs)


def test_the_subset_is_drawn_without_repetition_and_keeps_its_pairs(update):
    seen = update(state=ones(update().params))
    objective = FamiliarityReplay(familiar_share=1.0).objective(seen)
    pairs = {(*x.tolist(), *y.tolist()) for x, y in zip(*seen.familiarity, strict=True)}
    drawn = [
        (*x.tolist(), *y.tolist())
        for x, y in zip(objective.data.inputs[8:], objective.data.targets[8:], strict=True)
    ]
    assert len(set(drawn)) == len(drawn) == 8
    assert set(drawn) <= pairs


def test_a_subset_that_counts_weighs_as_much_as_all_familiar_samples(update):
    seen = update(novel=8, familiar=20, state=ones(update().params))
    weights = FamiliarityReplay(weighting="count").objective(seen).weights
    assert len(weights) == 8 + 4
    assert float(weights[8:].sum() / weights[:8].sum()) == pytest.approx(20 / 8)
    assert float(weights.mean()) == pytest.approx(1.0)


def test_different_draws_follow_the_random_state(update):
    seen = update(state=ones(update().params))
    first, second = (FamiliarityReplay().objective(seen).data.inputs for _ in range(2))
    assert not torch.equal(first, second)


def test_new_importance_comes_from_novelty_only(update):
    seen = update(state=ones(update().params))
    new = seen.network.initialise([5])
    after = FamiliarityReplay(gamma=0.25).consolidate(seen, new)
    fresh = fisher_information(seen, new, seen.novelty)
    for name, tensor in after.items():
        assert torch.allclose(tensor, 0.25 + fresh[name])


def test_the_penalty_is_that_of_ewc(update):
    seen = update(state=ones(update().params))
    penalty = FamiliarityReplay(ewc_weight=3.0).objective(seen).penalty
    assert (penalty.anchor, penalty.importance) == (seen.params, seen.state)
    assert penalty.strength == 3.0


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"familiar_share": 0}, "familiar_share is 0"),
        ({"familiar_share": 1.5}, r"familiar_share is 1\.5; it must lie in \(0, 1\]"),
        ({"gamma": 2}, "gamma is 2"),
        ({"ewc_weight": -1}, "ewc_weight is -1"),
    ],
)
def test_bad_hyperparameters_are_named(parameters, says):
    with pytest.raises(ConfigurationError, match=says):
        FamiliarityReplay(**parameters)
