"""The gate: which samples are held back, who is refused, and what is said about it."""

from dataclasses import replace

import numpy as np
import pytest

from clearwatt.clear.component import ClearSettings
from clearwatt.clear.gate import FEWEST, BufferErrors, Comparison, Gate
from clearwatt.clear.instance import Instance
from clearwatt.errors import ConfigurationError
from clearwatt.strategies import FineTune, GenerativeReplay, OnlineEWC, Retrain
from clearwatt.testing.scenario import STREAM, models, scenario
from clearwatt.training.fleet import Trained, Training

HALF = Gate(margin=0.1, share=0.5)
CAPACITY = 3 * FEWEST
"""Of the novelty buffers: some more than needed, because not every sample is measured."""


def errors(*values: float) -> np.ndarray:
    """Enough samples for the gate, whose held-back half has the last of two values."""
    return np.tile(np.array(values, np.float32), FEWEST)


def started(strategy, *, gate: Gate | None = HALF, learning_rate: float = 1e-3) -> Instance:
    data, (autoencoder, *heads) = scenario(), models(strategy)
    settings = ClearSettings(
        strategy=strategy,
        novelty_capacity=CAPACITY,
        update=Training(epochs=5, patience=None, batch=16, learning_rate=learning_rate),
        gate=gate,
    )
    return Instance.start(
        settings,
        data.warm_x,
        data.warm_y[:, :1],
        autoencoder=autoencoder,
        predictors=heads[:1],
    )


def test_every_kth_sample_is_held_back():
    gate = Gate(share=0.1)
    held = np.flatnonzero(gate.held_back_mask(10 * FEWEST + 5))
    assert held.tolist() == list(range(9, 10 * FEWEST, 10))


def test_nothing_is_held_back_from_a_window_too_small_to_compare():
    gate = Gate(share=0.1)
    assert not gate.held_back_mask(10 * FEWEST - 1).any()
    assert gate.held_back_mask(10 * FEWEST).sum() == FEWEST


def test_only_held_back_samples_count():
    better_in_training = (errors(1, 1), errors(1, 1)), (errors(0, 1.05), errors(0, 1.05))
    assert HALF.compare(*better_in_training).refusal is None
    assert HALF.compare((errors(1, 1),) * 2, (errors(0, 1.2),) * 2).refusal is not None


@pytest.mark.parametrize(
    ("novel", "familiar", "refused"),
    [(1.1, 1.1, False), (0.5, 1.11, True), (1.11, 0.5, True), (2.0, 2.0, True), (0.1, 1.0, False)],
)
def test_worse_than_the_margin_on_either_side_is_refused(novel, familiar, refused):
    before = errors(1, 1), errors(1, 1)
    after = errors(1, novel).astype(np.float64), errors(1, familiar).astype(np.float64)
    found = Gate(margin=0.10001, share=0.5).compare(before, after)
    assert (found.refusal is not None) == refused


def test_familiar_samples_are_held_against_what_the_deployed_model_usually_gets_wrong():
    before, after = (errors(1, 1), errors(1, 1)), (errors(1, 1), errors(2, 2))
    gate = Gate(margin=0.5, share=0.5)
    assert gate.compare(before, after).refusal is not None
    assert gate.compare(before, after, usual=1.5).refusal is None
    assert gate.compare((after[1], before[1]), (errors(4, 4), before[1]), usual=9).refusal


def test_a_refusal_names_both_numbers_and_the_margin():
    found = Comparison(0.1, novel=None, familiar=BufferErrors(30, deployed=0.31, candidate=0.412))
    assert found.refusal == (
        "its mean error on 30 held-back familiar samples is 0.412 against 0.31 of the model in "
        "service, worse by more than the margin of 10 %"
    )


def test_a_refusal_is_said_in_the_unit_of_the_event():
    found = Comparison(0.1, novel=BufferErrors(20, deployed=1.0, candidate=2.0), familiar=None)
    assert "is 200 against 100 of" in found.in_unit(100).refusal


def test_a_model_that_predicts_nonsense_is_refused_and_anything_beats_one():
    nan = errors(np.nan, np.nan)
    assert HALF.compare((errors(1, 1), errors(1, 1)), (nan, nan)).refusal is not None
    assert HALF.compare((nan, nan), (errors(1, 1), errors(1, 1))).refusal is None


def test_a_side_with_too_few_samples_is_not_compared():
    few = errors(1, 9)[: FEWEST - 1]
    found = HALF.compare((few / 9, errors(1, 1)), (few, errors(1, 1)))
    assert found.novel is None
    assert found.familiar is not None
    assert found.refusal is None


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"margin": -0.1}, r"margin is -0\.1"),
        ({"margin": float("nan")}, "margin is nan"),
        ({"share": 0}, "share is 0"),
        ({"share": 0.6}, r"share is 0\.6; hold back more than 0 and at most 0\.5"),
    ],
)
def test_a_gate_refuses_what_cannot_be(parameters, says):
    with pytest.raises(ConfigurationError, match=says):
        Gate(**parameters)


@pytest.mark.parametrize(
    "strategy",
    [FineTune(), OnlineEWC(), GenerativeReplay(density="gaussian", fit_samples=300)],
    ids=lambda each: type(each).__name__,
)
def test_a_bad_update_changes_nothing_but_the_buffers(strategy):
    """A learning rate far too high makes models worse without making them diverge."""
    data, instance = scenario(), started(strategy, learning_rate=0.5)
    before = instance.predict(data.x), instance.reconstruct(data.x)
    parts = (*instance.autoencoders, *instance.predictors)
    kept = [(part.threshold, part.state) for part in parts]
    events = instance.observe(data.x, data.y[:, :1])
    refused = [event for event in events if event.held_back and event.held_back.refusal]
    assert refused
    assert all("worse by more than the margin of 10 %" in event.reason for event in refused)
    assert all(event.reason in event.explanation for event in events)
    assert not any(event.accepted for event in events)
    assert all(event.threshold_after == event.threshold_before for event in events)
    assert np.array_equal(instance.predict(data.x), before[0])
    assert np.array_equal(instance.reconstruct(data.x), before[1])
    assert [(part.threshold, part.state) for part in parts] == kept
    assert all(len(part.novelty) < CAPACITY for part in parts)


def test_a_good_update_passes_and_says_how_it_compared():
    instance, data = started(FineTune(), learning_rate=1e-2), scenario()
    events = instance.observe(data.x, data.y[:, :1])
    passed = [event for event in events if event.accepted]
    assert passed
    for event in passed:
        assert event.reason is None
        assert event.novel == CAPACITY
        side = event.held_back.novel
        assert side.samples == CAPACITY // 2
        assert side.candidate <= 1.1 * side.deployed


def test_held_back_samples_do_not_train():
    instance, data = started(FineTune()), scenario()
    (job,) = next(instance.stream(data.x, np.full((STREAM, 1), np.nan)))
    plain = next(started(FineTune(), gate=None).stream(data.x, np.full((STREAM, 1), np.nan)))[0]
    assert np.array_equal(job.inputs, plain.inputs[::2])


def test_held_back_samples_do_not_train_through_the_history_either():
    instance, data = started(Retrain()), scenario()
    (job,) = next(instance.stream(data.x, np.full((STREAM, 1), np.nan)))
    plain = next(started(Retrain(), gate=None).stream(data.x, np.full((STREAM, 1), np.nan)))[0]
    trained, everything = ({row.tobytes() for row in each.inputs.numpy()} for each in (job, plain))
    assert trained < everything
    assert len(everything - trained) >= FEWEST


def test_a_gate_that_lets_everything_pass_still_re_estimates_on_the_whole_window():
    data, instance = scenario(), started(FineTune(), gate=replace(HALF, margin=1e9))
    event = next(e for e in instance.observe(data.x, data.y[:, :1]) if e.component == "predictor")
    assert event.novel == CAPACITY
    seen, counted = instance.step, event.novel + event.familiar
    assert counted == int((~np.isnan(data.y[: event.step, 0])).sum())
    assert seen == STREAM


def test_a_refused_predictor_takes_its_encoder_back():
    """Trained on the latents of a new encoder, a predictor is of no use without it."""
    strategy = GenerativeReplay(density="gaussian", fit_samples=300)
    instance, data = started(strategy, gate=replace(HALF, margin=0.0)), scenario()
    stream = instance.stream(data.x, data.y[:, :1])
    jobs, sent = next(stream), []
    try:
        while True:
            (job,) = jobs
            good = job.targets is None  # the encoder stays as it is; the predictor is spoilt
            params = {n: t if good else t + 5 for n, t in job.params.items()}
            sent.append(good)
            jobs = stream.send([trained(params)])
    except StopIteration as stop:
        events = [deployment.event for deployment in stop.value]
    assert sent[:2] == [True, False]
    assert not any(event.accepted for event in events)
    firsts = [event for event in events if event.component == "autoencoder"]
    assert {event.reason for event in firsts} == {"its predictor was not put into service"}


def trained(params):
    return Trained(params, 1, 1, training_loss=0.0, validation_rmse=None, seconds=0.0)
