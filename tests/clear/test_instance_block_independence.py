"""With precise verdicts, the state of an instance does not depend on the blocks of its stream."""

from copy import deepcopy
from dataclasses import replace
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clearwatt.clear.component import ClearSettings, Model
from clearwatt.clear.detection import is_novel
from clearwatt.clear.instance import Instance
from clearwatt.strategies import FineTune, GenerativeReplay, OnlineEWC, RecentReplay, Strategy
from clearwatt.testing.scenario import models, scenario, start
from clearwatt.training.networks import Autoencoder, Predictor

LENGTH = 120
STRATEGIES = {
    "RecentReplay": RecentReplay(recent_updates=2),
    "OnlineEWC": OnlineEWC(),
    "GenerativeReplay": GenerativeReplay(components=3, fit_samples=300),
}


def precise(strategy: Strategy) -> Instance:
    data, (autoencoder, *heads) = scenario(), models(strategy)
    return Instance.start(
        replace(start(strategy).settings, precise=True),
        data.warm_x,
        data.warm_y[:, :2],
        autoencoder=autoencoder,
        predictors=heads[:2],
    )


def streamed(strategy: Strategy, cuts: list[int]) -> Instance:
    instance, data = precise(strategy), scenario()
    for first, last in pairwise([0, *sorted(cuts), LENGTH]):
        instance.observe(data.x[first:last], data.y[first:last, :2])
    return instance


@cache
def whole(name: str) -> Instance:
    return streamed(STRATEGIES[name], [])


@pytest.mark.parametrize("name", STRATEGIES)
@settings(max_examples=12, deadline=None)
@given(cuts=st.lists(st.integers(0, LENGTH), max_size=40))
def test_any_partition_gives_the_same_instance(name, cuts):
    found = streamed(STRATEGIES[name], cuts)
    assert len(found.events) > 2
    assert found.digest() == whole(name).digest()


@pytest.mark.parametrize("name", STRATEGIES)
def test_one_by_one_gives_the_same_instance(name):
    assert streamed(STRATEGIES[name], list(range(1, LENGTH))).digest() == whole(name).digest()


def test_verdicts_on_the_edge_do_not_depend_on_the_cut():
    """Readings whose error is the threshold, up to how exactly a reading can be written down."""
    rng, encoder, head = np.random.default_rng(1), Autoencoder(4), Predictor(12)
    x = rng.normal(size=(600, 4)).astype(np.float32)
    instance = Instance.start(
        ClearSettings(strategy=FineTune(), precise=True),
        x,
        rng.normal(size=(600, 1)).astype(np.float32),
        autoencoder=Model(encoder, encoder.initialise([0])),
        predictors=[Model(head, head.initialise([1]))],
    )
    y = (instance.predict(x) + instance.predictors[0].threshold).astype(np.float32)
    singly = deepcopy(instance)
    for row in range(len(x)):
        singly.observe(x[row : row + 1], y[row : row + 1])
    instance.observe(x, y)
    assert 200 < len(instance.predictors[0].novelty) < 400
    assert singly.digest() == instance.digest()


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_stop_anywhere_changes_nothing(name, tmp_path):
    instance, data = precise(STRATEGIES[name]), scenario()
    for first in range(0, LENGTH, 30):
        part = slice(first, first + 30)
        instance.observe(data.x[part], data.y[part, :2])
        instance.save(tmp_path)
        instance = Instance.load(tmp_path)
        assert instance.settings.precise
    assert instance.digest() == whole(name).digest()


@pytest.mark.parametrize("strategy", [FineTune(), STRATEGIES["GenerativeReplay"]])
def test_every_verdict_is_computed_in_double_precision(strategy, monkeypatch):
    seen = []

    def watch(errors, tau):
        seen.append(errors.dtype)
        return is_novel(errors, tau)

    monkeypatch.setattr("clearwatt.clear.component.detection.is_novel", watch)
    data = scenario()
    precise(strategy).observe(data.x[:LENGTH], data.y[:LENGTH, :2])
    assert set(seen) == {np.dtype(np.float64)}
