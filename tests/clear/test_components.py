"""Who is part of an instance, and who may join it."""

from copy import deepcopy

import numpy as np
import pytest

from clearwatt.clear.component import ClearSettings
from clearwatt.clear.instance import Instance
from clearwatt.errors import ConfigurationError, DataError
from clearwatt.strategies import FineTune, GenerativeReplay, OnlineEWC, RecentReplay
from clearwatt.testing.comparison import first_difference, first_mismatch
from clearwatt.testing.scenario import SHORT, WARM_UP, models, observe, scenario, start
from clearwatt.training.networks import Predictor, VariationalAutoencoder

PAIRED = GenerativeReplay(density="gaussian", fit_samples=300)
STRATEGIES = [OnlineEWC(), RecentReplay(), PAIRED]


def joined(strategy, instance: Instance, entity: int = 1, **changes) -> Instance:
    data, (autoencoder, *heads) = scenario(), models(strategy)
    given = {"name": entity, "model": heads[entity], "x": data.warm_x, "y": data.warm_y[:, entity]}
    given |= {"autoencoder": autoencoder} | changes
    name, model, x, y = (given.pop(key) for key in ("name", "model", "x", "y"))
    instance.add(name, model, x, y, **given)
    return instance


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda each: type(each).__name__)
def test_who_joins_at_the_start_fares_as_if_there_from_the_start(strategy):
    alone, both = start(strategy), start(strategy, entities=(0, 1))
    instance = joined(strategy, alone)
    assert [part.threshold for part in instance.predictors] == [
        part.threshold for part in both.predictors
    ]
    assert instance.predict(scenario().x).shape[1] == 2
    assert first_mismatch(observe(instance), observe(both), scenario().x) is None
    assert [_facts(e) for e in instance.events] == [_facts(e) for e in both.events]


def _facts(event):
    return event.component, event.entity, event.step, event.novel, event.familiar, event.replayed


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda each: type(each).__name__)
def test_who_joins_later_leaves_the_others_alone(strategy):
    plain = observe(start(strategy), last=100)
    instance = joined(strategy, deepcopy(plain))
    rows = instance.inputs.next_row
    assert rows == WARM_UP + 100 + WARM_UP
    assert instance.step == 100
    # The newcomer has nothing measured, so that no job of its own trains with the others'.
    data, part = scenario(), slice(100, SHORT)
    y = np.stack([data.y[part, 0], np.full(SHORT - 100, np.nan, np.float32)], axis=1)
    if strategy is not PAIRED:
        instance.observe(data.x[part], y)
        observe(plain, 100)
        assert np.array_equal(instance.predict(data.x)[:, :1], plain.predict(data.x))
        return
    instance.observe(data.x[part], y)
    assert {event.entity for event in instance.events} == {0, 1}


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda each: type(each).__name__)
def test_an_instance_that_someone_joined_resumes(strategy, tmp_path):
    instance = joined(strategy, observe(start(strategy), last=60))
    observe(instance, 60, 120)
    instance.save(tmp_path)
    resumed = Instance.load(tmp_path)
    assert resumed.digest() == instance.digest()
    assert first_difference(observe(instance, 120), observe(resumed, 120)) is None
    assert {event.entity for event in instance.events if event.component == "predictor"} == {0, 1}


def test_random_numbers_are_those_of_the_entitys_place():
    instance, both = joined(FineTune(), start(FineTune())), start(FineTune(), entities=(0, 1))
    states = [each.predictors[1].rng.bit_generator.state for each in (instance, both)]
    assert states[0] == states[1]


WRONG = [
    ({"name": 0}, ConfigurationError, "entity 0 is there twice; give each a name of its own"),
    ({"y": np.full(WARM_UP, np.nan)}, DataError, "predictor of 1 has no sample to start from"),
    ({"y": np.zeros(3)}, DataError, r"y has shape \(3, 1\)"),
    ({"x": np.zeros((WARM_UP, 2))}, DataError, "this instance takes n x 4 inputs"),
    (
        {"model": models(FineTune())[1]._replace(network=Predictor(5))},
        ConfigurationError,
        "predictor of 1 takes 5 inputs, the autoencoder gives 3 latents",
    ),
]


@pytest.mark.parametrize(("changes", "error", "says"), WRONG)
@pytest.mark.parametrize("strategy", [RecentReplay(), PAIRED], ids=["async", "sync"])
def test_who_does_not_fit_is_refused_and_nothing_changes(strategy, changes, error, says):
    instance = observe(start(strategy), last=50)
    before, rows = instance.digest(), instance.inputs.next_row
    with pytest.raises(error, match=says):
        joined(strategy, instance, **changes)
    assert (instance.digest(), instance.inputs.next_row) == (before, rows)


def test_a_pair_needs_an_autoencoder_of_the_same_network():
    instance = start(PAIRED)
    with pytest.raises(ConfigurationError, match="1 joins with no autoencoder; with Generative"):
        joined(PAIRED, instance, autoencoder=None)
    other = VariationalAutoencoder(4, 9, 1, 3)
    model = models(PAIRED)[0]._replace(network=other, params=other.initialise([0]))
    with pytest.raises(ConfigurationError, match="its own, of the network"):
        joined(PAIRED, instance, autoencoder=model)


def test_two_entities_of_one_name_are_refused():
    data, (autoencoder, *heads) = scenario(), models(FineTune())
    with pytest.raises(ConfigurationError, match="entity 'park' is there twice"):
        Instance.start(
            ClearSettings(strategy=FineTune()),
            data.warm_x,
            data.warm_y[:, :2],
            autoencoder=autoencoder,
            predictors=heads[:2],
            names=["park", "park"],
        )
