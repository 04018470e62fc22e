"""Saved strategies and settings survive JSON, or are refused."""

import json
from dataclasses import dataclass

import pytest

from clearwatt.clear import component_saving
from clearwatt.clear.component import ClearSettings
from clearwatt.errors import ConfigurationError, StateError
from clearwatt.strategies import (
    STRATEGIES,
    FamiliarityReplay,
    FineTune,
    GenerativeReplay,
    Objective,
    RecentReplay,
    Strategy,
    Update,
    strategy_by_name,
)
from clearwatt.training.fleet import Training


@dataclass(frozen=True)
class Own(FineTune):
    strength: float = 2.0


class NoDataclass(Strategy):
    def objective(self, update: Update) -> Objective:
        return Objective(update.novelty)


def through_json(values):
    return json.loads(json.dumps(values))


@pytest.mark.parametrize(
    "strategy",
    [
        *(strategy_by_name(name) for name in STRATEGIES),
        RecentReplay(replay_weight=0.3, recent_updates=2, replay_size=9),
        GenerativeReplay(density="gaussian", components=3),
        GenerativeReplay(joint=True),
        FamiliarityReplay(ewc_weight=7.0, gamma=0.5, familiar_share=0.1),
    ],
    ids=repr,
)
def test_a_built_in_strategy_comes_back_equal(strategy):
    packed = through_json(component_saving.pack_strategy(strategy))
    assert component_saving.unpack_strategy(packed, None) == strategy


def test_what_the_release_before_does_not_know_is_saved_only_where_it_is_used():
    apart, joint = (
        component_saving.pack_strategy(GenerativeReplay(joint=joint)) for joint in (False, True)
    )
    assert "joint" not in apart["parameters"]
    assert joint["parameters"]["joint"] is True


def test_a_strategy_of_ones_own_is_asked_for():
    packed = through_json(component_saving.pack_strategy(Own()))
    with pytest.raises(StateError, match=r"pass strategy=Own\(\.\.\.\)"):
        component_saving.unpack_strategy(packed, None)
    mine = Own()
    assert component_saving.unpack_strategy(packed, mine) is mine


def test_another_strategy_than_the_saved_one_is_refused():
    packed = component_saving.pack_strategy(Own())
    with pytest.raises(StateError, match="saved with the strategy Own, not FineTune"):
        component_saving.unpack_strategy(packed, FineTune())


def test_a_strategy_that_is_no_dataclass_cannot_be_saved():
    with pytest.raises(ConfigurationError, match="NoDataclass is not a dataclass"):
        component_saving.pack_strategy(NoDataclass())


def test_settings_come_back_equal():
    settings = ClearSettings(
        strategy=RecentReplay(recent_updates=3),
        novelty_capacity=7,
        alpha=2.5,
        familiarity_capacity=11,
        update=Training(epochs=4, patience=None, batch=8, learning_rate=0.5, weight_decay=0.1),
        seed=5,
    )
    assert (
        component_saving.unpack_settings(
            through_json(component_saving.pack_settings(settings)), None
        )
        == settings
    )
