"""Updates: due on novelty or age, compared by a gate, explained."""

from dataclasses import replace

import numpy as np

from clearwatt.adaptive import NetworkUpdate, NoveltySettings, TrustShift
from clearwatt.clear.gate import Gate
from clearwatt.training.fleet import Training


def drifting(small, days=75):
    """The first entity doubles half-way; the second stays."""
    x, y, at = small.stream(days)
    y[small.WARMUP + 15 * small.DAY :, 0] *= 3
    return x, y, at


def updates(small, **changes):
    x, y, at = drifting(small)
    forecaster = small.started(x, y, at, settings=replace(small.SETTINGS, **changes))
    rest = slice(small.WARMUP, None)
    events = [change.event for change in forecaster.observe(x[rest], y[rest], at[rest])]
    return [event for event in events if isinstance(event, NetworkUpdate)], forecaster


def test_the_entity_that_drifts_is_updated_more_often_and_the_event_says_why(small):
    found, forecaster = updates(small)
    counts = [sum(event.entity == name for event in found) for name in (0, 1)]
    assert counts[0] > counts[1]
    assert counts == forecaster.trainings.tolist()
    first = found[0]
    assert first.trigger == "novelty"
    assert first.novel >= 2 * small.DAY
    assert first.novel_error_after < first.novel_error_before
    assert f"for {first.novel} of {first.samples} samples" in first.explanation
    assert all(event.accepted for event in found)


def test_by_the_calendar_all_are_updated_together(small):
    found, _ = updates(small, novelty=NoveltySettings(capacity=None, oldest=7.0))
    steps = sorted({event.step for event in found})
    assert np.diff(steps).tolist() == [7 * small.DAY] * (len(steps) - 1)
    assert len(found) == 2 * len(steps)
    assert {event.trigger for event in found} == {"age"}
    assert "last updated at step" in found[0].explanation


def test_a_gate_refuses_networks_that_are_worse_and_keeps_those_in_service(small):
    ruinous = replace(
        small.SETTINGS.networks, update=Training(epochs=1, patience=None, learning_rate=3.0)
    )
    found, forecaster = updates(small, networks=ruinous, gate=Gate(margin=0.2, share=0.5))
    refused = [event for event in found if not event.accepted]
    assert refused
    assert "held-back" in refused[0].reason
    assert refused[0].held_back is not None
    assert "not put into service" in refused[0].explanation
    if all(not event.accepted for event in found):
        assert [version.number for version in forecaster.versions] == [0, 0]


def test_with_a_gate_held_back_samples_are_not_trained_on(small):
    (with_gate, _), (without, _) = updates(small, gate=Gate(margin=9.0, share=0.5)), updates(small)
    assert with_gate[0].trained_on < without[0].trained_on


def test_trust_that_moves_to_yesterday_is_an_event_that_says_what_the_networks_missed(small):
    x, y, at = small.stream(75)
    rest = slice(small.WARMUP, None)
    # From now on the power has nothing to do with the weather, but repeats daily.
    y[rest, 0] = 8 + 4 * np.sin(2 * np.pi * at[rest] / small.DAY)
    forecaster = small.started(x, y, at)
    changes = forecaster.observe(x[rest], y[rest], at[rest])
    shifts = [c.event for c in changes if isinstance(c.event, TrustShift) and c.event.entity == 0]
    assert shifts
    assert shifts[-1].expert != "the networks"
    assert any(shift.bias is not None and shift.bias < 0 for shift in shifts)
    assert "too low from" in next(s for s in shifts if s.bias).explanation
