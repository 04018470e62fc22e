from dataclasses import replace

import numpy as np
import pytest

from clearwatt.clear.deployed_models import DeployedModels, columns_of
from clearwatt.clear.instance import Instance
from clearwatt.clear.loop import Deployment
from clearwatt.strategies import FineTune
from clearwatt.testing.scenario import observe, scenario, start


@pytest.fixture(scope="module")
def instance() -> Instance:
    """Two entities that share an autoencoder; updates have happened."""
    return observe(start(FineTune(), entities=(0, 1)))


def update_of(instance: Instance, component: str, column: int, *, accepted: bool) -> Deployment:
    """An update that doubles the weights of a component."""
    parts = instance.autoencoders if component == "autoencoder" else instance.predictors
    part = parts[column]
    event = next(each for each in instance.events if each.component == component)
    params = {name: 2 * tensor for name, tensor in part.params.items()}
    return Deployment(replace(event, entity=part.entity, accepted=accepted), params)


def test_without_updates_forecasts_are_those_of_the_instance(instance):
    x, models = scenario().x[:50], DeployedModels(instance)
    np.testing.assert_array_equal(models.predict(x), instance.predict(x))
    np.testing.assert_array_equal(models.predict(x, np.array([1])), instance.predict(x)[:, [1]])
    np.testing.assert_array_equal(models.reconstruct(x), instance.reconstruct(x, 0))


def test_an_update_of_a_predictor_changes_its_entity_alone(instance):
    x, models = scenario().x[:50], DeployedModels(instance)
    before = models.predict(x)
    assert models.deploy([update_of(instance, "predictor", 1, accepted=True)]).tolist() == [1]
    after = models.predict(x)
    np.testing.assert_array_equal(after[:, 0], before[:, 0])
    assert not np.allclose(after[:, 1], before[:, 1])
    np.testing.assert_array_equal(instance.predict(x), before)


def test_an_update_of_the_shared_autoencoder_changes_all_entities(instance):
    x, models = scenario().x[:50], DeployedModels(instance)
    before = models.predict(x), models.reconstruct(x)
    update = update_of(instance, "autoencoder", 0, accepted=True)
    assert models.deploy([update]).tolist() == [0, 1]
    for old, new in zip(before, (models.predict(x), models.reconstruct(x)), strict=True):
        assert not np.allclose(old, new)


def test_a_rejected_update_counts_as_no_change(instance):
    models = DeployedModels(instance)
    assert models.deploy([update_of(instance, "predictor", 1, accepted=False)]).tolist() == []


def test_rows_are_cut_where_models_change(instance):
    models = DeployedModels(instance)
    updates = [
        (10, update_of(instance, "predictor", 0, accepted=True)),
        (30, update_of(instance, "predictor", 1, accepted=True)),
    ]
    ranges = [(rows, columns.tolist()) for rows, columns in models.row_ranges(30, updates)]
    assert ranges == [(slice(0, 10), []), (slice(10, 30), [0]), (slice(30, 30), [1])]


def test_without_updates_there_is_one_range(instance):
    ranges = [rows for rows, _ in DeployedModels(instance).row_ranges(7, [])]
    assert ranges == [slice(0, 7)]


def test_columns_of_an_entity_and_of_a_shared_component(instance):
    second = instance.predictors[1].entity
    assert columns_of(instance, second).tolist() == [1]
    assert columns_of(instance, None).tolist() == [0, 1]
