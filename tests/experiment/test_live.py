from dataclasses import replace

import numpy as np
import pytest

from clearwatt.clear.component import Model
from clearwatt.clear.events import UpdateEvent
from clearwatt.clear.loop import Deployment
from clearwatt.clock import Clock
from clearwatt.errors import ConfigurationError
from clearwatt.experiment.live import ModelTimeline
from clearwatt.training.networks import Autoencoder, Predictor

AUTOENCODER = Autoencoder(4, 8, 2, 3)
PREDICTOR = Predictor(3, 8, 2)
X = np.random.default_rng(0).random((50, 4)).astype(np.float32)
EVENT = UpdateEvent(
    component="predictor",
    entity=0,
    step=10,
    trigger="prediction",
    threshold_before=1.0,
    threshold_after=1.0,
    novel=1,
    familiar=0,
    replayed=0,
    seconds=0.0,
    accepted=True,
    epochs=1,
    retained_bytes=0,
    recent_novel=0,
    recent_readings=0,
    novelty_error_before=None,
    novelty_error_after=None,
    familiarity_error_before=None,
    familiarity_error_after=None,
)


def forecasts(deployments, delay=5, encoder=0, head=1, at=None):
    return timeline(deployments, delay, encoder, head, at).forecasts(X)


def timeline(deployments, delay=5, encoder=0, head=1, at=None):
    return ModelTimeline(
        Model(AUTOENCODER, AUTOENCODER.initialise([encoder])),
        Model(PREDICTOR, PREDICTOR.initialise([head])),
        deployments,
        Clock(day=3, delay=delay),
        at,
    )


def test_an_update_serves_once_its_measurement_has_arrived():
    updated = Deployment(EVENT, PREDICTOR.initialise([2]))
    live = forecasts([updated])
    before, after = forecasts([]), forecasts([], head=2)
    # The tenth sample (index 9) fired; its measurement is known 5 steps later, at index 14.
    np.testing.assert_allclose(live[:14], before[:14], rtol=1e-5)
    np.testing.assert_allclose(live[14:], after[14:], rtol=1e-5)
    assert not np.allclose(before[14:], after[14:])


@pytest.mark.parametrize(
    ("gap", "first"),
    [
        (2, 12),  # two of the five steps of the delay are not in the stream
        (30, 10),  # the measurement arrived in the gap
    ],
)
def test_the_delay_counts_steps_of_the_clock_not_rows(gap, first):
    at = np.arange(len(X)) + np.where(np.arange(len(X)) >= 10, gap, 0)
    live = forecasts([Deployment(EVENT, PREDICTOR.initialise([2]))], at=at)
    np.testing.assert_allclose(live[:first], forecasts([])[:first], rtol=1e-5)
    np.testing.assert_allclose(live[first:], forecasts([], head=2)[first:], rtol=1e-5)


def test_both_components_are_followed():
    encoder = Deployment(
        replace(EVENT, component="autoencoder", entity=None, step=20), AUTOENCODER.initialise([7])
    )
    head = Deployment(EVENT, PREDICTOR.initialise([2]))
    live = forecasts([head, encoder], delay=1)
    np.testing.assert_allclose(live[10:20], forecasts([], head=2)[10:20], rtol=1e-5)
    np.testing.assert_allclose(live[20:], forecasts([], encoder=7, head=2)[20:], rtol=1e-5)


def test_an_update_too_late_to_serve_changes_nothing():
    late = Deployment(replace(EVENT, step=48), PREDICTOR.initialise([2]))
    np.testing.assert_array_equal(forecasts([late]), forecasts([]))


@pytest.mark.parametrize("delay", [-1, 0])
def test_a_measurement_is_not_known_before_its_forecast(delay):
    with pytest.raises(ConfigurationError, match=f"delay is {delay}"):
        forecasts([], delay=delay)


def test_a_swap_has_the_forecasts_of_the_new_model_for_the_days_before():
    late, later = (
        Deployment(replace(EVENT, step=step), PREDICTOR.initialise([2])) for step in (10, 30)
    )
    swaps = list(timeline([late, later]).swaps(1, X))
    assert [(swap.start, swap.known, swap.column) for swap in swaps] == [(14, 10, 1), (34, 30, 1)]
    for swap, rows in zip(swaps, (slice(0, 10), slice(9, 30)), strict=True):
        assert swap.forecasts.dtype == np.float64
        np.testing.assert_allclose(swap.forecasts, forecasts([], head=2)[rows], rtol=1e-5)


def test_an_update_that_was_rejected_does_not_serve():
    rejected = Deployment(replace(EVENT, accepted=False), PREDICTOR.initialise([1]))
    assert len(timeline([rejected]).periods) == 1
