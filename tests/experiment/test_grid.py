import pytest

from clearwatt.errors import ConfigurationError
from clearwatt.experiment.grid import INSTANCES, Grid


def test_table_2_has_120_configurations():
    counts = {instance: len(Grid().configurations(instance)) for instance in INSTANCES}
    assert counts == {"E": 12, "F": 12, "Ra": 12, "Re": 36, "ReD": 36, "G": 12}


def test_a_configuration_makes_the_strategy_with_its_hyperparameters():
    points = Grid().configurations("ReD")
    assert len({point.strategy for point in points}) == 9
    for point in points:
        strategy, values = point.strategy, point.to_dict()
        assert type(strategy).__name__ == "RecentReplayDecay"
        assert strategy.replay_weight == values["replay_weight"]
        assert strategy.recent_updates == values["recent_updates"]
        assert set(values) == {"novelty_capacity", "alpha", "replay_weight", "recent_updates"}


def test_an_unknown_instance_is_refused():
    with pytest.raises(ConfigurationError, match="'X' is unknown; choose from E, F, Ra"):
        Grid().configurations("X")
