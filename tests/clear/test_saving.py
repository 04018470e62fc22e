"""The digest of an instance: equal for equal states, different for any other."""

import json
from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest

from clearwatt.clear import instance as instance_module
from clearwatt.clear.events import UpdateEvent
from clearwatt.clear.instance import Instance
from clearwatt.packing import from_plain, to_plain
from clearwatt.strategies import FineTune, GenerativeReplay, OnlineEWC, RecentReplay
from clearwatt.testing.scenario import SHORT, observe, scenario, start

STRATEGIES = [
    OnlineEWC(),
    RecentReplay(recent_updates=1),
    GenerativeReplay(density="gaussian", fit_samples=300),
]


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda s: type(s).__name__)
def test_a_digest_survives_a_stop_and_does_not_depend_on_pruning(strategy, tmp_path, monkeypatch):
    instance = observe(start(strategy, entities=(0, 1)), last=180, block=10)
    monkeypatch.setattr(instance_module, "PRUNE_SLACK", 0)
    pruned = observe(start(strategy, entities=(0, 1)), last=180, block=10)
    assert len(pruned.inputs) < len(instance.inputs)
    assert pruned.digest() == instance.digest()
    instance.save(tmp_path)
    resumed = Instance.load(tmp_path)
    assert resumed.digest() == instance.digest()
    assert observe(resumed, 180).digest() == observe(instance, 180).digest()


def test_a_digest_changes_with_every_sample():
    instance = start(OnlineEWC())
    found = {instance.digest()}
    for step in range(30):
        found.add(observe(instance, step, step + 1).digest())
    assert len(found) == 31


def nudged_weight(instance):
    next(iter(instance.predictors[0].params.values()))[0, 0] += 1e-6


def another_draw(instance):
    instance.autoencoders[0].rng.random()


def raised_threshold(instance):
    instance.predictors[0].threshold = np.nextafter(instance.predictors[0].threshold, 1)


def altered_event(instance):
    instance.events = (replace(instance.events[0], novel=0), *instance.events[1:])


@pytest.mark.parametrize("change", [nudged_weight, another_draw, raised_threshold, altered_event])
def test_a_digest_sees_what_would_make_a_difference(change):
    instance = observe(start(FineTune()))
    twin = deepcopy(instance)
    change(twin)
    assert twin.digest() != instance.digest()


def test_a_digest_ignores_the_seconds_an_update_took():
    instance = observe(start(FineTune()), last=SHORT)
    twin = deepcopy(instance)
    twin.events = tuple(replace(event, seconds=event.seconds + 1) for event in twin.events)
    assert twin.events
    assert twin.digest() == instance.digest()


def test_taking_a_digest_leaves_the_instance_alone():
    instance, data = observe(start(RecentReplay()), last=70), scenario()
    held = len(instance.inputs)
    assert instance.digest() == instance.digest()
    assert len(instance.inputs) == held
    assert instance.observe(data.x[70:], data.y[70:, :1])


def test_events_come_back_equal():
    events = observe(start(FineTune())).events
    assert events
    for event in events:
        assert from_plain(UpdateEvent, json.loads(json.dumps(to_plain(event)))) == event
