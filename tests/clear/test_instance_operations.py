"""Every operation of a live service on one instance, with any blocks and any restarts."""

from copy import deepcopy
from dataclasses import replace
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clearwatt.clear.gate import Gate
from clearwatt.clear.instance import Instance
from clearwatt.clear.saving import pack_instance
from clearwatt.files import SavedState
from clearwatt.strategies import GenerativeReplay, OnlineEWC, RecentReplay, Strategy
from clearwatt.testing.scenario import WARM_UP, models, scenario, start
from clearwatt.training.fleet import Training
from clearwatt.training.streams import drive

STRATEGIES = {
    "RecentReplay": RecentReplay(recent_updates=2),
    "OnlineEWC": OnlineEWC(),
    "GenerativeReplay": GenerativeReplay(components=3, fit_samples=300),
}
LENGTH = 150
JOIN, LATE, FORGET, CORRECT, ASK, APPROVE, ROLLBACK = 40, 60, 75, 90, 100, 125, 140
"""The row of the stream before which each operation happens."""


def gated_instance(strategy: Strategy) -> Instance:
    data, (autoencoder, *heads) = scenario(), models(strategy)
    gated = replace(
        start(strategy).settings,
        novelty_capacity=44,
        precise=True,
        gate=Gate(margin=0.0, share=0.5),
        update=Training(epochs=3, patience=None, batch=16, learning_rate=0.05),
        alpha=0.8,
    )
    return Instance.start(
        gated,
        data.warm_x,
        data.warm_y[:, :2],
        autoencoder=autoencoder,
        predictors=heads[:2],
        names=["park", "mill"],
    )


class OperationSequence:
    """An instance on which every operation is applied; keeps the first model for a rollback."""

    def __init__(self, strategy: Strategy) -> None:
        self.strategy, self.instance = strategy, gated_instance(strategy)
        self.first = deepcopy(self.instance.predictors[0])

    def act(self, row: int) -> None:
        """Do what happens before a row."""
        data, instance = scenario(), self.instance
        if row == JOIN:
            autoencoder, *heads = models(self.strategy)
            instance.add("town", heads[2], data.warm_x, data.warm_y[:, 2], autoencoder=autoencoder)
        elif row == LATE:
            y = np.where(np.arange(3) == 1, data.y[:30] + 0.3, np.nan)
            drive(instance.stream_late(data.x[:30], y), stacked=False)
        elif row == FORGET:
            instance.forget(np.arange(WARM_UP + 20, WARM_UP + 35), ["park"], inputs=True)
        elif row == CORRECT:
            instance.correct(instance.inputs.next_row - 3, "mill", 0.5)
        elif row == ASK:
            for part in (*instance.autoencoders, *instance.predictors):
                part.approval = True
        elif row == APPROVE:
            for part in (*instance.autoencoders, *instance.predictors):
                if (found := part.candidate) is not None:
                    part.activate(found)
                part.approval = False
        elif row == ROLLBACK:
            then = self.first
            instance.predictors[0].activate(then)

    def take(self, first: int, last: int) -> None:
        """Take in rows of the stream."""
        data, entities = scenario(), len(self.instance.predictors)
        self.instance.observe(data.x[first:last], data.y[first:last, :entities])

    def stop(self, folder) -> None:
        """Stop, and start again from what was saved."""
        values, tensors = pack_instance(self.instance)
        copies = {name: tensor.clone() for name, tensor in tensors.items()}
        self.instance = Instance.from_saved(SavedState(deepcopy(values), copies, folder))


def run(strategy: Strategy, cuts: set[int], stops: set[int]) -> Instance:
    sequence = OperationSequence(strategy)
    happens = {JOIN, LATE, FORGET, CORRECT, ASK, APPROVE, ROLLBACK}
    for first, last in pairwise(sorted({0, LENGTH} | happens | cuts | stops)):
        if first in stops:
            sequence.stop(None)
        sequence.act(first)
        sequence.take(first, last)
    return sequence.instance


@cache
def uncut(name: str) -> Instance:
    return run(STRATEGIES[name], set(), set())


def test_the_sequence_contains_every_outcome():
    events = [event for name in STRATEGIES for event in uncut(name).events]
    reasons = {event.reason for event in events}
    assert None in reasons
    assert "awaiting approval" in reasons
    assert any(reason and "held-back" in reason for reason in reasons)
    assert {"park", "mill", "town"} <= {event.entity for event in events}


@pytest.mark.parametrize("name", STRATEGIES)
@settings(max_examples=10, deadline=None)
@given(
    cuts=st.sets(st.integers(1, LENGTH - 1), max_size=40),
    stops=st.sets(st.integers(1, LENGTH - 1), max_size=4),
)
def test_the_final_state_does_not_depend_on_blocks_and_restarts(name, cuts, stops):
    assert run(STRATEGIES[name], cuts, stops).digest() == uncut(name).digest()
