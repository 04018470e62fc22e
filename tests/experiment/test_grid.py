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


def test_generative_replay_dreams_with_the_models_of_every_update():
    for point in Grid().configurations("G"):
        strategy, values = point.strategy, point.to_dict()
        assert strategy.archives == "all"
        assert strategy.replay_weight == values["replay_weight"]
        assert set(values) == {"novelty_capacity", "alpha", "replay_weight"}


def test_an_unknown_instance_is_refused():
    with pytest.raises(ConfigurationError, match="'X' is unknown; choose from E, F, Ra"):
        Grid().configurations("X")


def test_capacities_shrink_with_the_updating_phase():
    """The paper's were chosen for 54,764 samples; a third of these gets buffers of a third."""
    grid = Grid(novelty_capacity=(3_000, 5_000), capacity_scale=None)
    assert grid.scale_to(54_764 // 2).capacities == (1_500, 2_500)
    assert grid.scale_to(10 * 54_764).capacities == (3_000, 5_000)
    found = {each.novelty_capacity for each in grid.scale_to(54_764 // 2).configurations("E")}
    assert found == {1_500, 2_500}


def test_scaled_capacities_have_a_floor_and_are_tried_once():
    grid = Grid(novelty_capacity=(3_000, 5_000, 100), capacity_scale=None)
    assert grid.scale_to(500).capacities == (200, 100)


def test_a_scale_that_is_given_is_kept():
    assert Grid(novelty_capacity=(40,)).scale_to(100).capacities == (40,)
    with pytest.raises(ConfigurationError, match="capacity_scale is 2"):
        Grid(capacity_scale=2.0)
