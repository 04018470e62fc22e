"""What a state keeps of strategies, settings and networks survives JSON, or is refused."""

import json
from dataclasses import dataclass

import pytest
from torch import nn

from clearwatt.clear import snapshot
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
from clearwatt.testing.scenario import observe, start
from clearwatt.training.fleet import Training
from clearwatt.training.networks import (
    Autoencoder,
    ModulePredictor,
    Predictor,
    VariationalAutoencoder,
)


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
        FamiliarityReplay(ewc_weight=7.0, gamma=0.5, familiar_share=0.1),
    ],
    ids=repr,
)
def test_a_built_in_strategy_comes_back_equal(strategy):
    packed = through_json(snapshot.pack_strategy(strategy))
    assert snapshot.unpack_strategy(packed, None) == strategy


def test_a_strategy_of_ones_own_is_asked_for():
    packed = through_json(snapshot.pack_strategy(Own()))
    with pytest.raises(StateError, match=r"pass strategy=Own\(\.\.\.\)"):
        snapshot.unpack_strategy(packed, None)
    mine = Own()
    assert snapshot.unpack_strategy(packed, mine) is mine


def test_another_strategy_than_the_saved_one_is_refused():
    packed = snapshot.pack_strategy(Own())
    with pytest.raises(StateError, match="saved with the strategy Own, not FineTune"):
        snapshot.unpack_strategy(packed, FineTune())


def test_a_strategy_that_is_no_dataclass_cannot_be_saved():
    with pytest.raises(ConfigurationError, match="NoDataclass is not a dataclass"):
        snapshot.pack_strategy(NoDataclass())


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
        snapshot.unpack_settings(through_json(snapshot.pack_settings(settings)), None) == settings
    )


@pytest.mark.parametrize(
    "network",
    [Autoencoder(5, 9, 2, 3), VariationalAutoencoder(5, 9, 2, 3, 0.25), Predictor(3, 7, 2)],
    ids=lambda network: type(network).__name__,
)
def test_a_built_in_network_comes_back_equal(network):
    assert snapshot.unpack_network(through_json(snapshot.pack_network(network)), None) == network


def test_a_network_of_ones_own_is_asked_for():
    own = ModulePredictor(lambda: nn.Linear(3, 1), inputs=3)
    packed = through_json(snapshot.pack_network(own))
    with pytest.raises(StateError, match="ModulePredictor of your own; pass the same network"):
        snapshot.unpack_network(packed, None)
    assert snapshot.unpack_network(packed, own) is own


def test_a_network_of_another_shape_is_refused():
    narrow, wide = (Predictor(3, width, 1) for width in (4, 5))
    tensors = {f"params.{name}": tensor for name, tensor in narrow.initialise([0]).items()}
    values = {"network": through_json(snapshot.pack_network(narrow))}
    with pytest.raises(StateError, match=r"saved with Predictor\(inputs=3, width=4"):
        snapshot.model_of(values, tensors, wide)
    own = [ModulePredictor(lambda width=w: _two_layers(width), inputs=3) for w in (4, 5)]
    tensors = {f"params.{name}": tensor for name, tensor in own[0].initialise([0]).items()}
    values = {"network": through_json(snapshot.pack_network(own[0]))}
    assert snapshot.model_of(values, tensors, own[0]).network is own[0]
    with pytest.raises(StateError, match="weights do not fit this ModulePredictor"):
        snapshot.model_of(values, tensors, own[1])


def _two_layers(width: int) -> nn.Module:
    return nn.Sequential(nn.Linear(3, width), nn.ReLU(), nn.Linear(width, 1))


def test_events_come_back_equal():
    events = observe(start(FineTune())).events
    assert events
    for event in events:
        assert snapshot.unpack_event(through_json(snapshot.pack_event(event))) == event
