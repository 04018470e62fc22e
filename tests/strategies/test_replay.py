"""The three real-replay approaches: which algorithm, which budget, which weights."""

import pytest
import torch

from clearwatt.errors import ConfigurationError
from clearwatt.strategies import Access, RandomReplay, RecentReplay, RecentReplayDecay

KINDS = [
    (RandomReplay, "random", Access.ALL, None),
    (RecentReplay, "recent", Access.RECENT, 5),
    (RecentReplayDecay, "decay", Access.RECENT, 5),
]
names = pytest.mark.parametrize(
    ("kind", "policy", "access", "window"), KINDS, ids=[kind.__name__ for kind, *_ in KINDS]
)


@names
def test_each_declares_what_it_keeps(kind, policy, access, window):
    assert (kind.policy, kind.access, kind().window) == (policy, access, window)


@names
def test_the_budget_is_the_novelty_capacity_unless_stated(update, kind, policy, access, window):
    seen = update()
    kind().objective(seen)
    kind(replay_size=3).objective(seen)
    assert seen.past.asked == [(policy, seen.capacity), (policy, 3)]


@names
def test_novelty_and_replay_weigh_as_equation_2(update, kind, policy, access, window):
    seen = update(novel=8, past=4)
    objective = kind(replay_weight=0.5).objective(seen)
    assert torch.equal(objective.data.inputs, (seen.novelty + seen.past.everything()).inputs)
    assert torch.equal(objective.data.targets, (seen.novelty + seen.past.everything()).targets)
    assert objective.weights.tolist() == pytest.approx([12 / 8] * 8 + [0.5 * 12 / 4] * 4)
    assert objective.replayed == 4
    assert objective.penalty is None


@names
def test_a_replay_set_that_counts_weighs_as_much_as_what_it_is_drawn_from(
    update, kind, policy, access, window
):
    seen = update(novel=8, past=30)
    weights = kind(0.5, replay_size=4, weighting="count").objective(seen).weights
    assert len(weights) == 8 + 4
    assert float(weights[8:].sum() / weights[:8].sum()) == pytest.approx(0.5 * 30 / 8)


@pytest.mark.parametrize("kind", [RandomReplay, RecentReplay, RecentReplayDecay])
@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"replay_weight": 0}, "replay_weight is 0"),
        ({"replay_weight": float("inf")}, "replay_weight is inf"),
        ({"replay_weight": 1e308}, r"replay_weight is 1e\+308; it must be above 0 and at most"),
        ({"replay_weight": 10**400}, "replay_weight is 10000"),
        ({"replay_size": 0}, "replay_size is 0"),
        ({"weighting": "much"}, "weighting is 'much'; choose one of equal, count"),
        ({"replay_size": 2.5}, r"replay_size is 2\.5; it must be a whole number"),
    ],
)
def test_bad_hyperparameters_are_named(kind, parameters, says):
    with pytest.raises(ConfigurationError, match=says):
        kind(**parameters)


@pytest.mark.parametrize("kind", [RecentReplay, RecentReplayDecay])
def test_a_window_is_at_least_one_update(kind):
    assert kind(recent_updates=1).window == 1
    for impossible in (0, 2.5):
        with pytest.raises(ConfigurationError, match=f"recent_updates is {impossible}"):
            kind(recent_updates=impossible)
