"""Events carry what happened, and say it in a sentence."""

from dataclasses import FrozenInstanceError, fields, replace
from itertools import pairwise

import pytest

from clearwatt.clear.component import RECENT_READINGS
from clearwatt.strategies import RecentReplay
from clearwatt.testing.scenario import CAPACITY, STREAM, observe, start


@pytest.fixture(scope="module")
def events():
    return observe(start(RecentReplay(), entities=(0, 1)), last=STREAM).events


def of(events, component, entity):
    return [event for event in events if (event.component, event.entity) == (component, entity)]


def test_events_come_in_the_order_of_the_stream(events):
    steps = [event.step for event in events]
    assert steps == sorted(steps)
    assert 0 < steps[0] <= steps[-1] <= STREAM


def test_both_components_of_every_entity_report(events):
    assert {(event.component, event.entity) for event in events} == {
        ("autoencoder", None),
        ("predictor", 0),
        ("predictor", 1),
    }


def test_the_signal_that_fires_is_the_components_own(events):
    signals = {"autoencoder": "reconstruction", "predictor": "prediction"}
    assert all(event.trigger == signals[event.component] for event in events)


def test_thresholds_chain_from_update_to_update(events):
    for key in (("autoencoder", None), ("predictor", 0), ("predictor", 1)):
        chain = of(events, *key)
        assert len(chain) > 2
        for earlier, later in pairwise(chain):
            assert later.threshold_before == earlier.threshold_after


def test_counts_add_up_to_the_window(events):
    """The autoencoder judges every sample, so its window is the distance between updates."""
    previous = 0
    for event in of(events, "autoencoder", None):
        assert event.novel == CAPACITY
        assert event.novel + event.familiar == event.step - previous
        assert 0 < event.recent_novel <= event.recent_readings <= RECENT_READINGS
        previous = event.step


def test_an_update_reports_its_training(events):
    for event in events:
        assert event.accepted
        assert event.seconds > 0
        assert event.epochs == 3
        assert 0 < event.replayed <= CAPACITY
        assert event.retained_bytes > 0


def test_the_explanation_holds_the_facts(events):
    (event, *_) = of(events, "predictor", 1)
    said = event.explanation
    assert said.startswith(f"predictor of 1: after {event.step} samples the prediction signal")
    assert f"{event.novel} novel and {event.familiar} familiar since the last update" in said
    assert f"{event.recent_novel} of the last {event.recent_readings} readings novel" in said
    assert f"{event.novelty_error_before:.4g} to {event.novelty_error_after:.4g}" in said
    assert f"threshold {event.threshold_before:.4g} to {event.threshold_after:.4g}" in said
    assert f"{event.replayed} replayed samples" in said


def test_the_explanation_names_the_unit_of_what_has_one(events):
    (event, *_) = of(events, "predictor", 1)
    said = event.explain("kW")
    assert f"threshold {event.threshold_before:.4g} to {event.threshold_after:.4g} kW;" in said
    assert f"{event.novelty_error_before:.4g} to {event.novelty_error_after:.4g} kW," in said
    assert said.count("kW") == (2 if event.familiarity_error_before is None else 3)


def test_the_shared_autoencoder_has_no_entity(events):
    (event, *_) = of(events, "autoencoder", None)
    assert event.explanation.startswith("autoencoder: after")


def test_scaling_touches_thresholds_and_errors_only(events):
    event = replace(events[0], familiarity_error_before=None)
    scaled = event.in_unit(10.0)
    for field in fields(event):
        before, after = getattr(event, field.name), getattr(scaled, field.name)
        in_units = "threshold" in field.name or "error" in field.name
        assert after == (before * 10 if in_units and before is not None else before)


def test_an_event_cannot_be_changed(events):
    with pytest.raises(FrozenInstanceError):
        events[0].step = 3
