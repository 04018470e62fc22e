"""Forgotten and replaced values are in no buffer, no history and no file."""

from copy import deepcopy

import numpy as np
import pytest

from clearwatt.clear.instance import Instance
from clearwatt.errors import ConfigurationError, DataError
from clearwatt.strategies import (
    FineTune,
    GenerativeReplay,
    OnlineEWC,
    RandomReplay,
    RecentReplay,
    Retrain,
)
from clearwatt.testing.comparison import first_difference
from clearwatt.testing.scenario import SHORT, STREAM, WARM_UP, observe, scenario, start

PAIRED = GenerativeReplay(density="gaussian", fit_samples=300)
STRATEGIES = [FineTune(), OnlineEWC(), RandomReplay(), RecentReplay(recent_updates=2), PAIRED]
SENTINEL = np.float32(1.2345678)
"""A value that occurs nowhere else, to be searched for in the bytes of a file."""


def marked(strategy, *, x: bool, y: bool) -> tuple[Instance, np.ndarray]:
    """An instance that has seen the sentinel, and the rows in which it did."""
    instance, data = start(strategy, entities=(0, 1)), scenario()
    instance.observe(data.x[:60], data.y[:60, :2])
    inputs, targets = data.x[60:64].copy(), data.y[60:64, :2].copy()
    if x:
        inputs[1:3, 0] = SENTINEL
    if y:
        targets[1:3] = SENTINEL
    first = instance.inputs.next_row
    instance.observe(inputs, targets)
    return instance, np.array([first + 1, first + 2])


def on_disk(instance: Instance, folder) -> bool:
    instance.save(folder)
    content = b"".join(path.read_bytes() for path in folder.iterdir())
    return SENTINEL.tobytes() in content or str(float(SENTINEL)).encode() in content


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda each: type(each).__name__)
def test_what_is_forgotten_is_in_no_file(strategy, tmp_path):
    instance, rows = marked(strategy, x=True, y=True)
    assert on_disk(instance, tmp_path)
    assert instance.forget(rows, inputs=True) > 0
    assert not on_disk(instance, tmp_path)
    assert not np.isin(rows, instance.inputs.rows).any()
    assert observe(Instance.load(tmp_path), 64, STREAM).events


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda each: type(each).__name__)
def test_one_entity_forgets_and_the_others_do_not(strategy):
    instance, rows = marked(strategy, x=False, y=True)
    forgetful, other = instance.predictors
    held = [np.isin(rows, part.all_samples.rows).sum() for part in (forgetful, other)]
    assert held[0] > 0
    assert instance.forget(rows, [0]) == held[0]
    assert np.isin(rows, forgetful.all_samples.rows).sum() == 0
    assert np.isin(rows, other.all_samples.rows).sum() == held[1]
    assert np.isin(rows, instance.autoencoders[0].all_samples.rows).all()
    assert instance.forget(rows, [0]) == 0


def test_inputs_are_forgotten_on_request_only():
    instance, rows = marked(RandomReplay(), x=True, y=False)
    instance.forget(rows)
    assert np.isin(rows, instance.inputs.rows).all()
    assert instance.forget(rows, inputs=True) == len(rows)
    assert not np.isin(rows, instance.inputs.rows).any()


def test_a_pairs_autoencoder_forgets_with_its_entity():
    instance, rows = marked(PAIRED, x=True, y=True)
    instance.forget(rows, [1], inputs=True)
    mine, theirs = (part.all_samples.rows for part in instance.autoencoders)
    assert np.isin(rows, mine).all()
    assert not np.isin(rows, theirs).any()


def test_a_history_keeps_its_tasks():
    instance = observe(start(Retrain()), last=SHORT)
    history = instance.predictors[0].history
    edges, held = list(history.boundaries), history.samples.rows.copy()
    gone = held[[3, edges[1] - 1, edges[1], edges[2] + 1, len(held) - 1]]
    tasks = [set(held[a:b]) - set(gone) for a, b in zip(edges, [*edges[1:], None], strict=True)]
    assert instance.forget(gone) == len(gone)
    now = history.boundaries
    assert [
        set(history.samples.rows[a:b]) for a, b in zip(now, [*now[1:], None], strict=True)
    ] == tasks


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda each: type(each).__name__)
def test_forgetting_everything_leaves_an_instance_that_goes_on(strategy):
    instance = observe(start(strategy))
    instance.forget(np.arange(WARM_UP + SHORT), inputs=True)
    assert len(instance.inputs) == 0
    assert all(part.familiarity.seen == 0 for part in instance.predictors)
    updates = len(instance.events)
    assert len(observe(instance, SHORT, STREAM).events) > updates


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda each: type(each).__name__)
def test_forgetting_and_correcting_can_be_taken_back(strategy):
    instance, rows = marked(strategy, x=True, y=True)
    twin = deepcopy(instance)

    def failing():
        with instance.rollback_on_error():
            assert instance.correct(int(rows[0]), 0, 0.5)
            assert instance.forget(rows, inputs=True)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        failing()
    assert instance.digest() == twin.digest()
    assert first_difference(observe(instance, 64), observe(twin, 64)) is None


def test_rows_that_are_not_held_are_passed_over():
    instance = observe(start(OnlineEWC()))
    before = instance.digest()
    assert instance.forget([0, 1, 10**9]) == 0
    assert instance.forget([]) == 0
    assert instance.digest() == before


def test_a_correction_reaches_every_place():
    instance, rows = marked(RandomReplay(), x=False, y=True)
    row, (predictor, other) = int(rows[0]), instance.predictors
    assert instance.correct(row, 0, 0.25) == 2  # a buffer and the history
    for part in (predictor.all_samples, predictor.window):
        assert part.targets[part.rows == row].tolist() == [0.25]
    assert other.all_samples.targets[other.all_samples.rows == row].tolist() == [SENTINEL]


def test_a_corrected_value_is_the_one_that_is_learned_from():
    """Corrected at once, it is as if the right value had come, as long as the verdict is alike."""
    data = scenario()
    right, wrong = data.y[:120, :1].copy(), data.y[:120, :1].copy()
    row = int(np.flatnonzero(~np.isnan(right[:, 0]))[3])
    instances = [start(FineTune()) for _ in range(2)]
    threshold = instances[0].predictors[0].threshold
    forecast = instances[0].predict(data.x[row : row + 1])[0, 0]
    right[row], wrong[row] = forecast + 2 * threshold, forecast + 3 * threshold
    for instance, y in zip(instances, (right, wrong), strict=True):
        instance.observe(data.x[: row + 1], y[: row + 1])
    assert instances[1].correct(WARM_UP + row, 0, float(right[row, 0])) == 1
    for instance in instances:
        instance.observe(data.x[row + 1 : 120], right[row + 1 :])
    assert instances[0].events
    assert instances[0].digest() == instances[1].digest()


def test_what_is_not_held_cannot_be_corrected():
    instance = observe(start(OnlineEWC()))
    assert instance.correct(0, 0, 1.0) == 0


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 1e39])
def test_a_correction_must_be_a_number(value):
    with pytest.raises(DataError, match="it must be finite"):
        start(FineTune()).correct(0, 0, value)


def test_an_unknown_entity_is_refused_by_name():
    instance = start(FineTune(), entities=(0, 1))
    with pytest.raises(ConfigurationError, match=r"no entity 'park'; choose among 0, 1"):
        instance.forget([1], ["park"])
    with pytest.raises(ConfigurationError, match="no entity 7"):
        instance.correct(1, 7, 0.0)
