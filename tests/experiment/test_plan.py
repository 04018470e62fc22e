from dataclasses import replace

import numpy as np
import pytest

from clearwatt.data import simulate_grid
from clearwatt.errors import DataError
from clearwatt.experiment.config import Experiment
from clearwatt.experiment.models import Place, TrainedNetwork
from clearwatt.experiment.plan import (
    SHARED_STREAMS,
    STACK,
    adaptive_tasks,
    choose_entities,
    predictor_tasks,
    representation_tasks,
    updating_tasks,
)
from clearwatt.experiment.presets import preset
from clearwatt.experiment.protocol import PhaseSamples, ZonePhases
from clearwatt.experiment.tasks import Context
from clearwatt.training.networks import Autoencoder, Predictor, VariationalAutoencoder


@pytest.fixture(scope="module")
def context() -> Context:
    """The paper's preset on 95 entities of one zone, with warm-up models already chosen."""
    nothing = PhaseSamples(np.empty((0, 23)), np.empty((0, 95)), np.empty(0))
    zone = ZonePhases("region", tuple(f"e{i}" for i in range(95)), nothing, nothing)
    representations = {
        (0, "plain"): TrainedNetwork(Autoencoder(23), {}, 0.0),
        (0, "variational"): TrainedNetwork(VariationalAutoencoder(23), {}, 0.0),
    }
    predictors = {
        (Place(0, i), role): TrainedNetwork(Predictor(12, (64, 128)[i % 2]), {}, 0.0)
        for i in range(95)
        for role in ("plain", "variational")
    }
    return Context(
        Experiment(),
        (zone,),
        times=None,
        day=96,
        representations=representations,
        predictors=predictors,
    )


def test_every_trial_is_in_exactly_one_task(context):
    trials = [trial for task in updating_tasks(context) for trial in task.trials]
    assert len(trials) == len(set(trials)) == 120 * 95


def test_a_task_has_configurations_of_one_family(context):
    for task in updating_tasks(context):
        assert len({each.approach.family for each in task.configurations}) == 1


def test_the_updates_of_a_shared_autoencoder_are_computed_once_for_each_configuration(context):
    for task in updating_tasks(context):
        if task.configurations[0].approach.family == "penalty":
            assert (len(task.places), len(task.configurations)) == (95, 1)


def test_configurations_whose_first_updates_are_the_same_are_in_one_task(context):
    tasks = [
        task
        for task in updating_tasks(context)
        if task.configurations[0].approach.family == "replay"
    ]
    for task in tasks:
        assert len({each.beginning for each in task.configurations}) == 1
        assert sorted(each.instance for each in task.configurations) == [
            *("Ra", "Re", "Re", "Re", "ReD", "ReD", "ReD")
        ]
        assert len(task.trials) <= SHARED_STREAMS
    assert len(tasks) == 12 * 2  # capacity, alpha and replay weight; two halves of the entities


def test_one_configuration_of_each_replay_is_one_task_for_the_whole_zone(context):
    own = replace(context, experiment=preset("small"))
    tasks = [task for task in updating_tasks(own) if "Re" in [c.instance for c, _ in task.trials]]
    (task,) = tasks
    assert (len(task.places), len(task.configurations)) == (95, 3)


def test_entities_with_autoencoders_of_their_own_are_grouped_by_the_shape_of_their_predictors(
    context,
):
    tasks = [
        task for task in updating_tasks(context) if task.configurations[0].strategy.synchronous
    ]
    shapes = [
        {context.predictors[place, "variational"].network for place in task.places}
        for task in tasks
    ]
    assert all(len(task.places) <= STACK for task in tasks)
    assert sum(len(own) > 1 for own in shapes) <= len(tasks) / 3


def test_the_adaptive_forecaster_has_tasks_of_its_own_for_the_entities_of_each_zone(context):
    own = replace(context, experiment=replace(context.experiment, instances=("Ra", "A")))
    tasks = adaptive_tasks(replace(own, zones=own.zones * 2))
    places = [place for task in tasks for _, place in task.trials]
    assert len(places) == len(set(places)) == 2 * 95
    assert all(len(task.columns) <= STACK for task in tasks)
    assert {each.instance for task in updating_tasks(own) for each, _ in task.trials} == {"Ra"}
    assert adaptive_tasks(context) == []  # it was not asked for


@pytest.mark.parametrize(
    ("zones", "entities", "sizes"),
    [(33, 1, [32, 1]), (2, 20, [20, 20]), (2, 40, [40, 40]), (2, 100, [50, 50, 50, 50])],
)
def test_small_zones_go_side_by_side_and_only_very_large_ones_are_split(
    context, zones, entities, sizes
):
    zone = replace(context.zones[0], entities=tuple(f"e{i}" for i in range(entities)))
    own = replace(
        context,
        experiment=replace(context.experiment, instances=("Ra",)),
        zones=(zone,) * zones,
        representations={(z, "plain"): context.representations[0, "plain"] for z in range(zones)},
        predictors={
            (Place(z, i), "plain"): context.predictors[Place(0, i % 95), "plain"]
            for z in range(zones)
            for i in range(entities)
        },
    )
    tasks = updating_tasks(own)
    trials = [trial for task in tasks for trial in task.trials]
    assert len(trials) == len(set(trials)) == 12 * zones * entities
    first = own.experiment.configurations[0]
    assert [len(task.places) for task in tasks if first in task.configurations] == sizes


def test_every_candidate_network_is_trained_once_for_each_zone_and_entity(context):
    zones = replace(context, zones=context.zones * 2)
    tasks = representation_tasks(zones)
    trained = [trial for task in tasks for trial in task.trials]
    assert len(trained) == len(set(trained)) == 2 * (24 + 72)
    assert len(tasks) == 24 + 24  # KL weights of one shape train in one stack
    trained = [(t.role, t.network, p) for t in predictor_tasks(context) for p in t.places]
    assert len(trained) == len(set(trained)) == 2 * 6 * 95


def test_a_number_of_entities_takes_all_kinds_in_turn():
    grid = simulate_grid(24, 96)
    chosen = choose_entities(grid, Experiment(entities=6))
    kinds = [str(grid.entity(name).kind) for name in chosen]
    assert sorted(kinds) == ["consumer"] * 2 + ["generator"] * 2 + ["residual"] * 2
    assert choose_entities(grid, Experiment(entities=24)) == grid.names


def test_the_number_of_a_preset_is_as_many_as_there_are_at_most(grid):
    assert choose_entities(grid, preset("demo")) == grid.names


def test_entities_can_be_left_out(grid):
    assert choose_entities(grid, Experiment(without=("park",))) == ("farm", "town")
    assert choose_entities(grid, Experiment(entities=2, without=("farm",))) == ("park", "town")
    some = Experiment(entities=("town", "farm"), without=("town",))
    assert choose_entities(grid, some) == ("farm",)
    with pytest.raises(DataError, match="3 entities wanted, but 'three' has 2"):
        choose_entities(grid, Experiment(entities=3, without=("park",)))
    with pytest.raises(DataError, match="no entity 'nobody'"):
        choose_entities(grid, Experiment(without=("nobody",)))
    with pytest.raises(DataError, match="no entity is left"):
        choose_entities(grid, Experiment(without=grid.names))


def test_more_entities_than_there_are_or_unknown_ones_are_refused(grid):
    with pytest.raises(DataError, match="4 entities wanted, but 'three' has 3"):
        choose_entities(grid, Experiment(entities=4))
    with pytest.raises(DataError, match="no entity 'nobody'"):
        choose_entities(grid, Experiment(entities=("nobody",)))
