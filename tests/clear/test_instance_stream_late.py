"""Late readings: the predictors learn from them, the autoencoder does not."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clearwatt.clear.instance import Instance
from clearwatt.strategies import FineTune, Frozen, GenerativeReplay, RandomReplay, RecentReplay
from clearwatt.testing.scenario import CAPACITY, SHORT, WARM_UP, models, scenario, start
from clearwatt.training.streams import drive

PAIRED = GenerativeReplay(density="gaussian", fit_samples=300)


def begun(strategy, entities: int = 2) -> Instance:
    data, (autoencoder, *heads) = scenario(), models(strategy)
    return Instance.start(
        replace(start(strategy).settings, precise=True),
        data.warm_x,
        data.warm_y[:, :entities],
        autoencoder=autoencoder,
        predictors=heads[:entities],
    )


def silent(rows: int, entities: int = 2) -> np.ndarray:
    return np.full((rows, entities), np.nan, np.float32)


def late(instance: Instance, first: int, last: int, y: np.ndarray | None = None):
    data = scenario()
    power = data.y[first:last, : len(instance.predictors)] if y is None else y
    return drive(instance.stream_late(data.x[first:last], power), stacked=False)


def test_the_predictors_learn_and_the_autoencoder_does_not():
    instance = begun(RandomReplay())
    instance.observe(scenario().x[:SHORT], silent(SHORT))
    encoder, updates = instance.autoencoders[0], instance.autoencoders[0].updates
    held, params = len(encoder.all_samples.rows), encoder.params
    deployed = late(instance, 0, SHORT)
    assert {update.event.component for update in deployed} == {"predictor"}
    assert {update.event.entity for update in deployed} == {0, 1}
    assert (encoder.updates, len(encoder.all_samples.rows)) == (updates, held)
    assert encoder.params is params
    measured = int((~np.isnan(scenario().y[:SHORT, 0])).sum())
    assert (instance.predictors[0].all_samples.rows >= WARM_UP + SHORT).sum() == measured


def test_rows_are_new_and_the_step_stays():
    instance = begun(FineTune())
    instance.observe(scenario().x[:50], silent(50))
    first = instance.inputs.next_row
    deployed = late(instance, 0, 50)
    assert (instance.step, instance.inputs.next_row) == (50, first + 50)
    assert deployed
    assert all(update.event.step == 50 for update in deployed)
    assert instance.events[-len(deployed) :] == tuple(update.event for update in deployed)


def test_verdicts_are_those_of_the_models_in_service():
    instance, data = begun(FineTune(), entities=1), scenario()
    instance.observe(data.x[:SHORT], silent(SHORT, 1))
    (predictor,) = instance.predictors
    off = np.abs(instance.predict(data.x[:SHORT])[:, 0] - data.y[:SHORT, 0])
    novel = off > predictor.threshold
    last = int(np.flatnonzero(novel)[CAPACITY - 2]) + 1  # one short of an update
    late(instance, 0, last)
    assert len(predictor.novelty) == CAPACITY - 1
    assert predictor.familiarity.seen == int((off[:last] <= predictor.threshold).sum())


def test_a_pair_sees_what_was_measured_for_it():
    instance, data = begun(PAIRED), scenario()
    y = data.y[:30, :2].copy()
    y[:, 1] = np.nan
    instance.observe(data.x[:30], silent(30))
    held = [len(part.window.rows) for part in instance.autoencoders]
    late(instance, 0, 5, y[:5])
    after = [len(part.window.rows) for part in instance.autoencoders]
    measured = int((~np.isnan(y[:5, 0])).sum())
    assert after == [held[0] + measured, held[1]]


def test_a_pair_updates_on_late_samples():
    instance = begun(PAIRED)
    deployed = late(instance, 0, SHORT)
    assert {update.event.component for update in deployed} == {"autoencoder", "predictor"}
    assert {update.event.step for update in deployed} == {0}


def test_what_never_updates_takes_nothing_in():
    instance = begun(Frozen())
    before = instance.digest()
    assert late(instance, 0, 40) == []
    assert instance.digest() == before


@pytest.mark.parametrize(
    "strategy", [RecentReplay(recent_updates=2), PAIRED], ids=["asynchronous", "synchronous"]
)
@settings(max_examples=8, deadline=None)
@given(cuts=st.lists(st.integers(0, 120), max_size=12))
def test_the_cut_does_not_matter(strategy, cuts):
    """Events included, of which several entities have some at the same step."""
    data, found = scenario(), []
    for places in ([], cuts):
        instance = begun(strategy)
        instance.observe(data.x[:40], data.y[:40, :2])
        for first, last in pairwise([0, *sorted(places), 120]):
            late(instance, first, last)
        instance.observe(data.x[40:60], data.y[40:60, :2])
        found.append(instance)
    assert len(found[0].events) > 4
    assert found[0].digest() == found[1].digest()


def test_an_abandoned_late_block_can_be_taken_back():
    instance = begun(RecentReplay())
    before = instance.digest()

    def abandoned():
        with instance.rollback_on_error():
            next(instance.stream_late(scenario().x, scenario().y[:, :2]))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        abandoned()
    assert instance.digest() == before
    assert instance.inputs.next_row == WARM_UP
