"""A trained model on its way into service: approval, activation by hand, versions on disk."""

from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest
import torch

from clearwatt.clear.instance import Instance
from clearwatt.clear.model_saving import pack_version, unpack_version
from clearwatt.errors import StateError
from clearwatt.files import load_state, save_state
from clearwatt.strategies import FineTune, GenerativeReplay, OnlineEWC, RecentReplay
from clearwatt.testing.comparison import first_difference
from clearwatt.testing.scenario import SHORT, STREAM, observe, scenario, start
from clearwatt.training.networks import Predictor

PAIRED = GenerativeReplay(density="gaussian", fit_samples=300)
STRATEGIES = [FineTune(), OnlineEWC(), RecentReplay(), PAIRED]


def waiting(strategy, last: int = SHORT) -> Instance:
    instance = start(strategy)
    for part in (*instance.autoencoders, *instance.predictors):
        part.approval = True
    return observe(instance, last=last)


def approve(instance: Instance) -> None:
    for part in (*instance.autoencoders, *instance.predictors):
        if (found := part.candidate) is not None:
            part.activate(found)


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda each: type(each).__name__)
def test_with_approval_nothing_is_deployed_until_someone_says_so(strategy):
    data, fresh, instance = scenario(), start(strategy), waiting(strategy)
    assert np.array_equal(instance.predict(data.x), fresh.predict(data.x))
    assert {event.reason for event in instance.events} == {"awaiting approval"}
    assert not any(event.accepted for event in instance.events)
    for part in (*instance.autoencoders, *instance.predictors):
        assert part.candidate.number == part.updates
    approve(instance)
    assert not np.array_equal(instance.predict(data.x), fresh.predict(data.x))
    assert all(part.candidate is None for part in (*instance.autoencoders, *instance.predictors))


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda each: type(each).__name__)
def test_approved_at_once_equals_deployed(strategy):
    """One sample at a time, so that approval comes before the next sample is judged."""
    plain, asked = start(strategy), start(strategy)
    for part in (*asked.autoencoders, *asked.predictors):
        part.approval = True
    for step in range(120):
        observe(plain, step, step + 1)
        observe(asked, step, step + 1)
        approve(asked)
    assert len(plain.events) > 2
    assert np.array_equal(plain.predict(scenario().x), asked.predict(scenario().x))


def test_a_newer_candidate_replaces_an_older_one():
    instance = waiting(FineTune())
    first = instance.predictors[0].candidate
    observe(instance, SHORT, STREAM)
    assert instance.predictors[0].candidate.number > first.number


def test_a_pair_waits_and_is_replaced_together():
    instance = waiting(PAIRED)
    pair = instance.autoencoders[0], instance.predictors[0]
    assert pair[0].candidate.number == pair[1].candidate.number
    pair[0].approval = False  # the predictor's is enough
    observe(instance, SHORT, STREAM)
    assert {event.reason for event in instance.events} == {"awaiting approval"}
    assert pair[0].candidate.number == pair[1].candidate.number == pair[0].updates


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda each: type(each).__name__)
def test_candidates_survive_a_stop(strategy, tmp_path):
    instance = waiting(strategy)
    instance.save(tmp_path)
    resumed = Instance.load(tmp_path)
    assert resumed.digest() == instance.digest()
    assert resumed.predictors[0].approval
    approve(instance)
    assert resumed.digest() != instance.digest()
    approve(resumed)
    assert resumed.digest() == instance.digest()
    observe(resumed, SHORT)
    assert first_difference(observe(instance, SHORT), resumed) is None


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda each: type(each).__name__)
def test_a_version_from_disk_forecasts_as_it_did(strategy, tmp_path):
    data, instance = scenario(), observe(start(strategy), last=90)
    parts = (*instance.autoencoders, *instance.predictors)
    before, thresholds = instance.predict(data.x), [part.threshold for part in parts]
    for index, part in enumerate(parts):
        save_state(tmp_path / str(index), *pack_version(part.version))
    observe(instance, 90)
    assert not np.array_equal(instance.predict(data.x), before)
    held = [len(part.all_samples.rows) for part in parts]
    for index, part in enumerate(parts):
        found = unpack_version(load_state(tmp_path / str(index)), part)
        assert found.number < part.updates
        part.activate(found)
    assert np.array_equal(instance.predict(data.x), before)
    assert [part.threshold for part in parts] == thresholds
    assert [len(part.all_samples.rows) for part in parts] == held
    assert observe(instance, SHORT, STREAM).events


def test_a_rollback_leaves_another_candidate_waiting():
    instance = waiting(OnlineEWC())
    part = instance.predictors[0]
    part.activate(part.version)
    assert part.candidate is not None


def fewer_weights(model):
    return replace(model, params={k: v for k, v in model.params.items() if "bias" not in k})


def other_weights(model):
    return replace(model, params=Predictor(3, width=9, layers=1).initialise([0]))


def more_weights(model):
    return replace(model, params=Predictor(3, width=8, layers=2).initialise([0]))


def broken_weights(model):
    return replace(model, params={k: v * float("nan") for k, v in model.params.items()})


def no_threshold(model):
    return replace(model, threshold=float("nan"))


def of_another_strategy(model):
    return replace(model, state={})


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (fewer_weights, r"the model has no weights layers\.0\.bias; activate a model of the"),
        (other_weights, r"layers\.0\.bias have shape \(1, 9\), not \(1, 8\)"),
        (more_weights, "predictor of 0 has no weights|have shape"),
        (broken_weights, "are not all finite"),
        (no_threshold, "threshold is nan"),
        (of_another_strategy, r"kept nothing with the model, but needs \['layers"),
    ],
)
def test_a_model_that_does_not_fit_is_refused_and_nothing_changes(spoil, says):
    instance = observe(start(OnlineEWC()))
    part = instance.predictors[0]
    model = spoil(part.version)
    before = instance.digest()
    with pytest.raises(StateError, match=says):
        part.activate(model)
    assert instance.digest() == before


def test_a_version_of_another_component_is_refused(tmp_path):
    instance = start(FineTune())
    save_state(tmp_path, *pack_version(instance.autoencoders[0].version))
    with pytest.raises(StateError, match="activate a model of this component"):
        unpack_version(load_state(tmp_path), instance.predictors[0])


def test_a_folder_that_holds_no_version_is_refused(tmp_path):
    instance = start(FineTune())
    instance.save(tmp_path)
    with pytest.raises(StateError, match="holds no model version"):
        unpack_version(load_state(tmp_path), instance.predictors[0])


def test_a_version_without_one_of_its_tensors_is_refused(tmp_path):
    part = start(OnlineEWC()).predictors[0]
    values, tensors = pack_version(part.version)
    tensors.pop("state.layers.0.bias")
    save_state(tmp_path, values, tensors)
    with pytest.raises(StateError, match=r"incomplete: state\.layers\.0\.bias is missing"):
        unpack_version(load_state(tmp_path), part)


def test_a_version_is_what_it_was_when_it_was_packed():
    instance = observe(start(FineTune()), last=90)
    part = instance.predictors[0]
    values, tensors = deepcopy(pack_version(part.version))
    observe(instance, 90)
    assert values["number"] < part.updates
    kept = {name.removeprefix("params."): tensor for name, tensor in tensors.items()}
    assert any(not torch.equal(kept[name], tensor) for name, tensor in part.params.items())
