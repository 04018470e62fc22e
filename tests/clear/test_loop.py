"""Asynchronous updates: each component on its own, a predictor through the encoder in force."""

import contextlib

import numpy as np
import pytest
import torch

from clearwatt.clear import loop
from clearwatt.clear.component import ClearSettings
from clearwatt.clear.instance import Instance
from clearwatt.errors import ConfigurationError
from clearwatt.strategies import FineTune, GenerativeReplay, RandomReplay
from clearwatt.testing.comparison import components, first_difference
from clearwatt.testing.scenario import CAPACITY, SHORT, models, observe, scenario, start
from clearwatt.training.fleet import Training, train
from clearwatt.training.networks import Predictor


def sizes(instance) -> dict[str, tuple[int, int]]:
    return {
        name: (len(part.novelty), part.familiarity.seen)
        for name, part in components(instance).items()
    }


def test_only_the_component_whose_buffer_is_full_updates():
    instance, data = start(RandomReplay(), entities=(0, 1)), scenario()
    updated = set()
    for step in range(SHORT):
        before = sizes(instance)
        events = instance.observe(data.x[step : step + 1], data.y[step : step + 1, :2])
        fired = {
            part.title
            for part in components(instance).values()
            for event in events
            if (event.component, event.entity) == (part.name, part.entity)
        }
        for name, (novel, familiar) in sizes(instance).items():
            if name in fired:
                assert (novel, familiar) == (0, 0)
                assert before[name][0] == instance.settings.novelty_capacity - 1
            else:
                assert sum(before[name]) <= novel + familiar <= sum(before[name]) + 1
        updated |= fired
    assert updated == set(sizes(instance))


def test_a_predictor_judges_through_the_encoder_in_force():
    """Before each sample, what `predict` says decides into which buffer it must go."""
    instance, data = start(FineTune()), scenario()
    (predictor,), checked_after_encoder_update = instance.predictors, 0
    for step in range(SHORT):
        x, y = data.x[step : step + 1], data.y[step : step + 1, :1]
        margin = abs(float(y[0, 0]) - instance.predict(x)[0, 0]) - predictor.threshold
        before = len(predictor.novelty)
        events = instance.observe(x, y)
        if np.isnan(margin) or abs(margin) < 1e-5:
            continue
        novel = any(event.component == "predictor" for event in events) or (
            len(predictor.novelty) > before
        )
        assert novel == (margin > 0)
        checked_after_encoder_update += instance.autoencoders[0].updates > 0
    assert checked_after_encoder_update > SHORT // 4


def test_an_encoder_update_moves_the_forecasts_of_an_unchanged_predictor():
    instance, data = start(FineTune()), scenario()
    unmeasured = np.full((SHORT, 1), np.nan, np.float32)
    before = instance.predict(data.x)
    events = instance.observe(data.x[:SHORT], unmeasured)
    assert {event.component for event in events} == {"autoencoder"}
    assert np.abs(instance.predict(data.x) - before).max() > 1e-3


def test_a_predictor_due_with_the_encoder_trains_on_the_new_latents():
    """The very sample that fills both buffers: the encoder's update comes first."""
    instance, data = start(FineTune()), scenario()
    x = data.warm_x[:CAPACITY] + np.float32(5)
    stream = instance.stream(x, np.full((CAPACITY, 1), 9))
    (job,) = next(stream)
    assert job.targets is None
    (new,) = train([job])
    (job,) = stream.send([new])
    latents = loop.encode(instance.autoencoders[0].network, new.params, x)
    assert torch.equal(job.inputs, latents)


@pytest.mark.parametrize("strategy", [FineTune(), GenerativeReplay(density="gaussian")])
def test_every_update_of_every_component_averages_weights_if_the_settings_say_so(strategy):
    data, (autoencoder, head, *_) = scenario(), models(strategy)
    update = Training(epochs=2, patience=None, batch=16, averaging=0.9)
    instance = Instance.start(
        ClearSettings(strategy=strategy, novelty_capacity=CAPACITY, update=update),
        data.warm_x,
        data.warm_y[:, :1],
        autoencoder=autoencoder,
        predictors=[head],
    )
    stream = instance.stream(data.x[:SHORT], data.y[:SHORT, :1])
    trained = set()
    with contextlib.suppress(StopIteration):
        jobs = next(stream)
        while True:
            assert [job.training for job in jobs] == [update] * len(jobs)
            trained |= {type(job.network) for job in jobs}
            jobs = stream.send(train(jobs))
    assert trained == {type(autoencoder.network), type(head.network)}


def test_samples_without_measurement_are_streamed_but_not_learnt():
    instance, data = start(RandomReplay()), scenario()
    gap, seen = 30, 60
    y = data.y[:SHORT, :1].copy()
    y[:gap] = np.nan
    instance.observe(data.x[:gap], y[:gap])
    (predictor,) = instance.predictors
    assert instance.step == gap
    assert len(predictor.window.rows) == 0
    assert predictor.recent.size == 0
    instance.observe(data.x[gap:seen], y[gap:seen])
    measured = int((~np.isnan(y[gap:seen])).sum())
    updated = [event for event in instance.events if event.component == "predictor"]
    assert len(predictor.window.rows) + sum(e.novel + e.familiar for e in updated) == measured
    assert all(event.step > gap for event in updated)


def test_a_predictor_event_counts_the_samples_without_measurement():
    data = scenario()
    gap = 30
    late, early = start(FineTune()), start(FineTune())
    silent = np.full((gap, 1), np.nan, np.float32)
    # The warm-up's own inputs: nothing new for the autoencoder, whose encoder must not change.
    late.observe(data.warm_x[:gap], silent)
    late.autoencoders[0].novelty.clear()
    first = [
        next(e for e in instance.observe(data.x, data.y[:, :1]) if e.component == "predictor")
        for instance in (late, early)
    ]
    assert first[0].step == first[1].step + gap


def test_look_ahead_does_not_matter(monkeypatch):
    whole = observe(start(RandomReplay()))
    monkeypatch.setattr(loop, "LOOK_AHEAD", 7)
    assert first_difference(whole, observe(start(RandomReplay()))) is None


def test_a_network_that_cannot_encode_is_refused():
    with pytest.raises(ConfigurationError, match="Predictor cannot serve as the autoencoder"):
        loop.reconstructor(Predictor(3))
