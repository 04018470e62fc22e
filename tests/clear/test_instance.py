"""The instance as a whole: state that resumes, input that is refused, memory that stays small."""

import json
from copy import deepcopy

import numpy as np
import pytest

from clearwatt.clear import instance as instance_module
from clearwatt.clear.component import ClearSettings
from clearwatt.clear.instance import Instance
from clearwatt.errors import ClearwattError, DataError, StateError
from clearwatt.files import MANIFEST, load_state, save_state
from clearwatt.strategies import (
    FineTune,
    Frozen,
    GenerativeReplay,
    OnlineEWC,
    RandomReplay,
    RecentReplay,
    RecentReplayDecay,
)
from clearwatt.testing.comparison import components, first_difference
from clearwatt.testing.scenario import (
    CAPACITY,
    SHORT,
    STREAM,
    WARM_UP,
    models,
    observe,
    scenario,
    start,
)
from clearwatt.training.fleet import Training
from clearwatt.training.networks import Predictor

D = scenario().x.shape[1]


def test_thresholds_start_from_the_whole_warm_up():
    instance, data = start(FineTune(), entities=(0, 1)), scenario()
    errors = np.sqrt(((instance.reconstruct(data.warm_x) - data.warm_x) ** 2).mean(axis=1))
    assert instance.autoencoders[0].threshold == pytest.approx(1.3 * errors.mean(), rel=1e-5)
    off = np.abs(instance.predict(data.warm_x) - data.warm_y[:, :2])
    found = [part.threshold for part in instance.predictors]
    assert found == pytest.approx(1.3 * np.nanmean(off, axis=0), rel=1e-5)


def test_thresholds_are_re_estimated_on_everything_since_the_last_update():
    data = scenario()
    autoencoder, head, *_ = models(FineTune())
    settings = ClearSettings(
        strategy=FineTune(),
        novelty_capacity=CAPACITY,
        alpha=1.1,
        update=Training(epochs=2, patience=None),
    )
    fresh = Instance.start(
        settings, data.warm_x, data.warm_y[:, :1], autoencoder=autoencoder, predictors=[head]
    )
    events = deepcopy(fresh).observe(data.x, data.y[:, :1])
    first = {}
    for event in events:
        first.setdefault(event.component, event)
    for component, event in first.items():
        instance, seen = deepcopy(fresh), slice(0, event.step)
        instance.observe(data.x[seen], data.y[seen, :1])
        if component == "autoencoder":
            off = instance.reconstruct(data.x[seen]) - data.x[seen]
            wanted = 1.1 * np.sqrt((off**2).mean(axis=1)).mean()
        else:
            off = instance.predict(data.x[seen])[:, 0] - data.y[seen, 0]
            wanted = 1.1 * np.nanmean(np.abs(off))
        assert event.threshold_after == pytest.approx(wanted, rel=1e-4)


def test_frozen_only_counts_the_stream():
    instance, data = start(Frozen()), scenario()
    before = instance.predict(data.x)
    observe(instance, last=STREAM)
    assert (instance.step, instance.events) == (STREAM, ())
    assert np.array_equal(instance.predict(data.x), before)
    assert instance.retained_bytes == 0
    assert len(instance.inputs) == 0


def test_an_empty_block_changes_nothing():
    instance = observe(start(RecentReplay()), last=50)
    twin = deepcopy(instance)
    assert instance.observe(np.empty((0, D)), np.empty((0, 1))) == ()
    assert first_difference(instance, twin) is None


def test_a_diverged_update_keeps_the_old_model_in_service():
    data = scenario()
    autoencoder, head, *_ = models(FineTune())
    settings = ClearSettings(
        strategy=FineTune(),
        novelty_capacity=CAPACITY,
        update=Training(epochs=60, patience=None, learning_rate=1e30),
    )
    instance = Instance.start(
        settings, data.warm_x, data.warm_y[:, :1], autoencoder=autoencoder, predictors=[head]
    )
    before = instance.predict(data.x)
    events = instance.observe(data.x, data.y[:, :1])
    assert len(events) > 2
    assert not any(event.accepted for event in events)
    assert all(event.threshold_after == event.threshold_before for event in events)
    assert np.array_equal(instance.predict(data.x), before)


STRATEGIES = [
    FineTune(),
    OnlineEWC(),
    RecentReplay(recent_updates=2),
    RecentReplayDecay(recent_updates=1),
    RandomReplay(),
    GenerativeReplay(density="gaussian", fit_samples=300),
]


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda s: type(s).__name__)
def test_pruning_never_loses_a_row_that_is_referred_to(strategy, monkeypatch):
    untouched = start(strategy, entities=(0, 1))
    monkeypatch.setattr(instance_module, "PRUNE_SLACK", 0)
    pruned = start(strategy, entities=(0, 1))
    data = scenario()
    for step in range(0, STREAM, 16):
        for instance in (untouched, pruned):
            observe(instance, step, step + 16)
        held = np.unique(np.concatenate([p.all_samples.rows for p in components(pruned).values()]))
        assert np.isin(held, pruned.inputs.rows).all()
        stream = np.concatenate([data.warm_x, data.x])
        assert np.array_equal(pruned.inputs.take(held), stream[held])
        assert len(pruned.inputs) <= 2 * max(len(held), 2 * CAPACITY) + 2 * WARM_UP
    assert first_difference(untouched, pruned) is None


def test_many_entities_resume_as_if_never_stopped(tmp_path):
    instance = observe(start(RecentReplay(), entities=(2, 0, 1)), last=90)
    instance.save(tmp_path)
    resumed = Instance.load(tmp_path)
    assert first_difference(instance, resumed) is None
    observe(instance, 90, STREAM)
    observe(resumed, 90, STREAM)
    assert first_difference(instance, resumed) is None
    assert [part.entity for part in resumed.predictors] == [2, 0, 1]


def test_saving_leaves_the_instance_alone(tmp_path):
    instance = observe(start(RandomReplay()), last=70)
    twin = deepcopy(instance)
    instance.save(tmp_path)
    assert first_difference(observe(instance, 70), observe(twin, 70)) is None


def test_a_strategy_without_access_leaves_no_past_on_disk(tmp_path):
    instance = observe(start(OnlineEWC()), last=STREAM)
    instance.save(tmp_path)
    buffered = {int(row) for part in components(instance).values() for row in part.all_samples.rows}
    assert set(load_state(tmp_path).tensors["inputs.rows"].tolist()) == buffered
    assert len(buffered) < STREAM


def nan_input(x, y):
    x[3, 1] = np.nan
    return x, y


def infinite_input(x, y):
    x[0, 0] = -np.inf
    return x, y


def infinite_target(x, y):
    y[4, 0] = np.inf
    return x, y


BAD = [
    (nan_input, r"x is nan at row 3, column 1; leave out samples"),
    (infinite_input, r"x is -inf at row 0, column 0"),
    (infinite_target, r"y is infinite at row 4, entity 0; use NaN"),
    (lambda x, y: (x[:, :-1], y), rf"x has shape \(10, {D - 1}\); this instance takes n x {D}"),
    (lambda x, y: (x[0], y), rf"x has shape \({D},\)"),
    (lambda x, y: (x, y[:, 0]), r"y has shape \(10,\); 10 samples of 1 entities"),
    (lambda x, y: (x, y[:-1]), r"y has shape \(9, 1\)"),
    (lambda x, y: (x, np.hstack([y, y])), r"y has shape \(10, 2\)"),
]


@pytest.mark.parametrize(("spoil", "says"), BAD)
def test_bad_input_is_refused_and_leaves_everything_as_it_was(spoil, says):
    instance = observe(start(RecentReplay()), last=60)
    twin, data = deepcopy(instance), scenario()
    x, y = spoil(data.x[60:70].copy(), data.y[60:70, :1].copy())
    with pytest.raises(DataError, match=says):
        instance.observe(x, y)
    assert first_difference(instance, twin) is None
    assert instance.step == twin.step
    assert len(instance.inputs) == len(twin.inputs)
    assert first_difference(observe(instance, 60), observe(twin, 60)) is None


def test_forecasting_refuses_bad_input_too():
    instance = start(FineTune())
    with pytest.raises(DataError, match="x is nan"):
        instance.predict(np.full((2, D), np.nan))


@pytest.fixture
def folder(tmp_path):
    observe(start(OnlineEWC(), entities=(0, 1))).save(tmp_path)
    return tmp_path


def damage(folder, *, without=None, values=None):
    saved = load_state(folder)
    tensors = {name: tensor for name, tensor in saved.tensors.items() if name != without}
    save_state(folder, saved.values if values is None else values(saved.values), tensors)


@pytest.mark.parametrize(
    "without",
    [
        "inputs.values",
        "inputs.rows",
        "autoencoder-0.novelty.rows",
        "predictor-1.familiarity.targets",
        "predictor-0.recent",
        "autoencoder-0.params.encoder.0.weight",
        "predictor-0.state.layers.0.weight",
    ],
)
def test_a_state_without_one_of_its_tensors_is_refused(folder, without):
    assert without in load_state(folder).tensors
    damage(folder, without=without)
    with pytest.raises(StateError, match=r"incomplete|damaged"):
        Instance.load(folder)


@pytest.mark.parametrize("key", ["settings", "width", "components", "entities", "events", "step"])
def test_a_state_without_one_of_its_values_is_refused(folder, key):
    damage(folder, values=lambda values: {k: v for k, v in values.items() if k != key})
    with pytest.raises(StateError, match="incomplete"):
        Instance.load(folder)


def test_a_state_of_another_version_is_refused(folder):
    manifest = json.loads((folder / MANIFEST).read_text())
    (folder / MANIFEST).write_text(json.dumps(manifest | {"version": 99}))
    with pytest.raises(StateError, match="version 99"):
        Instance.load(folder)


def test_a_strategy_parameter_this_release_does_not_know_is_refused(folder):
    def newer(values):
        values["settings"]["strategy"]["parameters"]["temperature"] = 3
        return values

    damage(folder, values=newer)
    with pytest.raises(ClearwattError, match="OnlineEWC has no parameter 'temperature'"):
        Instance.load(folder)


def test_names_stay_with_their_entities():
    data = scenario()
    autoencoder, *heads = models(FineTune())
    instance = Instance.start(
        ClearSettings(strategy=FineTune(), novelty_capacity=CAPACITY),
        data.warm_x,
        data.warm_y,
        autoencoder=autoencoder,
        predictors=heads,
        names=["park", "mill", "town"],
    )
    y = data.y[:SHORT].copy()
    y[:, [0, 2]] = np.nan
    events = instance.observe(data.x[:SHORT], y)
    assert {event.entity for event in events if event.component == "predictor"} == {"mill"}


def test_a_network_that_is_no_autoencoder_is_refused():
    data = scenario()
    head = models(FineTune())[1]
    wrong = head._replace(network=Predictor(D, 4, 1), params=Predictor(D, 4, 1).initialise([0]))
    with pytest.raises(ClearwattError):
        Instance.start(
            ClearSettings(), data.warm_x, data.warm_y[:, :1], autoencoder=wrong, predictors=[head]
        )
