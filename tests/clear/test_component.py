"""A component: its threshold, its buffers, and what an update leaves behind."""

import numpy as np
import pytest
import torch

from clearwatt.clear.buffers import SampleRows
from clearwatt.clear.component import ClearSettings, Component, Model, align_memory
from clearwatt.errors import ConfigurationError
from clearwatt.strategies import Batch, FineTune, OnlineEWC, Retrain
from clearwatt.testing.scenario import models, start
from clearwatt.training.fleet import Trained, Training, train
from clearwatt.training.networks import Predictor

NETWORK = Predictor(inputs=2, width=4, layers=1)


def data(rows: np.ndarray) -> Batch:
    """Two inputs and a target, a function of the row number."""
    x = np.stack([np.sin(rows), np.cos(rows)], axis=1).astype(np.float32)
    return Batch(torch.from_numpy(x), torch.from_numpy(x.sum(axis=1, keepdims=True)))


def view(samples: SampleRows) -> Batch:
    return data(samples.rows)


def samples(rows) -> SampleRows:
    rows = np.asarray(rows, dtype=np.int64)
    return SampleRows(rows, data(rows).targets.numpy()[:, 0])


def started(strategy=None, *, capacity=4, familiarity_capacity=None) -> Component:
    component = Component(
        "predictor",
        Model(NETWORK, NETWORK.initialise([0])),
        settings=ClearSettings(
            strategy=strategy or FineTune(),
            novelty_capacity=capacity,
            familiarity_capacity=familiarity_capacity,
            alpha=1.5,
            update=Training(epochs=2, patience=None),
        ),
        rng=np.random.default_rng(0),
        sample_width=3,
        entity="park",
    )
    component.start(samples(range(50)), data(np.arange(50)))
    return component


def absorbed(component: Component, rows, novel) -> Component:
    component.absorb(samples(rows), np.asarray(novel, np.bool_))
    return component


def errors_by(params, rows) -> np.ndarray:
    seen = data(np.asarray(rows))
    forecast = NETWORK.forward(params, seen.inputs[None])[0]
    return (forecast - seen.targets).abs().numpy()[:, 0]


def test_the_first_threshold_comes_from_the_whole_warm_up():
    component = started()
    wanted = 1.5 * errors_by(component.params, range(50)).mean()
    assert component.threshold == pytest.approx(wanted, rel=1e-6)


def test_judging_compares_with_the_threshold():
    component = started()
    wanted = errors_by(component.params, range(100)) > component.threshold
    assert 0 < wanted.sum() < 100
    assert np.array_equal(component.judge(data(np.arange(100))), wanted)


def test_due_counts_what_the_buffer_already_holds():
    component = absorbed(started(capacity=4), range(50, 55), [1, 0, 1, 0, 1])
    assert component.verdicts_until_full(np.array([False, False])) is None
    assert component.verdicts_until_full(np.array([False, True, True])) == 2


def test_an_update_re_estimates_the_threshold_on_both_buffers():
    component = absorbed(started(), range(50, 60), [1, 0] * 4 + [0, 0])
    request = component.request(view, step=10, trigger="prediction")
    before = component.params
    event = component.deploy(request, train([request.job])[0])
    assert component.threshold == pytest.approx(
        1.5 * errors_by(component.params, range(50, 60)).mean(), rel=1e-6
    )
    assert event.threshold_after == component.threshold != event.threshold_before
    novel, familiar = [50, 52, 54, 56], [51, 53, 55, 57, 58, 59]
    for field, params, rows in (
        (event.novelty_error_before, before, novel),
        (event.novelty_error_after, component.params, novel),
        (event.familiarity_error_before, before, familiar),
        (event.familiarity_error_after, component.params, familiar),
    ):
        assert field == pytest.approx(errors_by(params, rows).mean(), rel=1e-5)


def test_a_request_hands_over_the_buffers_and_starts_fresh_ones():
    component = absorbed(started(), range(50, 60), [1, 0] * 4 + [0, 0])
    request = component.request(view, step=10, trigger="prediction")
    assert torch.equal(request.update.novelty.inputs, data(np.array([50, 52, 54, 56])).inputs)
    assert request.update.familiarity.size == 6
    assert (len(component.novelty), len(component.familiarity)) == (0, 0)
    absorbed(component, [60], [True])
    assert torch.equal(request.update.novelty.inputs, data(np.array([50, 52, 54, 56])).inputs)


def test_a_diverged_update_keeps_model_threshold_and_state():
    component = absorbed(started(OnlineEWC()), range(50, 58), [1, 0] * 4)
    params, threshold, state = component.params, component.threshold, component.state
    request = component.request(view, step=8, trigger="prediction")
    gone = {name: tensor * float("nan") for name, tensor in params.items()}
    event = component.deploy(request, Trained(gone, 1, 0, float("nan"), None, 0.1, diverged=True))
    assert (event.accepted, event.threshold_after) == (False, threshold)
    assert component.params is params
    assert component.state is state
    assert component.threshold == threshold
    assert (len(component.novelty), component.updates) == (0, 1)
    assert "diverged" in event.explanation


def test_the_importance_after_an_update_is_taken_at_the_new_weights():
    component = absorbed(started(OnlineEWC(gamma=0.5)), range(100, 110), [True] * 4 + [False] * 6)
    before, window = component.state, data(np.arange(100, 110))
    request = component.request(view, step=10, trigger="prediction")
    (trained,) = train([request.job])
    component.deploy(request, trained)
    assert window.targets is not None
    fresh = NETWORK.fisher(trained.params, window.inputs[None], window.targets[None])
    stale = NETWORK.fisher(request.job.params, window.inputs[None], window.targets[None])
    for name, found in component.state.items():
        assert torch.allclose(found, 0.5 * before[name] + fresh[name], rtol=1e-4)
    assert any(not torch.allclose(fresh[name], stale[name], rtol=1e-2) for name in fresh)


def test_an_update_without_familiar_samples_says_so():
    component = absorbed(started(), range(50, 54), [1] * 4)
    request = component.request(view, step=4, trigger="prediction")
    event = component.deploy(request, train([request.job])[0])
    assert (event.familiar, event.familiarity_error_before) == (0, None)
    assert "familiar samples none seen" in event.explanation


def test_familiar_counts_what_was_seen_not_what_a_bounded_buffer_holds():
    component = absorbed(started(familiarity_capacity=3), range(50, 64), [1, 0] * 4 + [0] * 6)
    request = component.request(view, step=14, trigger="prediction")
    assert (request.familiar, request.update.familiarity.size) == (10, 3)


def test_retained_bytes_count_samples_and_state():
    kept = absorbed(started(Retrain()), range(50, 60), [0] * 10)
    assert kept.retained_bytes == 4 * 3 * 60
    anchored = absorbed(started(OnlineEWC()), range(50, 60), [0] * 10)
    fisher = 4 * sum(tensor.numel() for tensor in anchored.params.values())
    assert anchored.retained_bytes == 4 * 3 * 10 + fisher


def test_past_is_refused_to_those_who_declare_none():
    component = absorbed(started(FineTune()), range(50, 54), [1] * 4)
    update = component.request(view, step=4, trigger="prediction").update
    with pytest.raises(ConfigurationError, match=r"'none' asked for a 'random' replay of 9"):
        update.past.replay("random", 9)
    with pytest.raises(ConfigurationError, match=r"declare access = Access\.ALL"):
        update.past.everything()


def test_weights_from_anywhere_in_memory_are_put_where_torch_puts_its_own():
    buffer = torch.arange(40.0)
    tensors = {"a": buffer[1:17], "b": buffer[:8]}
    found = align_memory(tensors)
    assert all(tensor.data_ptr() % 64 == 0 for tensor in found.values())
    assert all(torch.equal(found[name], tensor) for name, tensor in tensors.items())
    assert found["b"] is tensors["b"]


def test_a_component_starts_from_aligned_weights():
    model = models(FineTune())[1]
    astray = {}
    for name, tensor in model.params.items():
        buffer = torch.empty(tensor.numel() + 1)
        astray[name] = buffer[1:].view(tensor.shape).copy_(tensor)
    component = Component(
        "predictor",
        model._replace(params=astray),
        settings=start(FineTune()).settings,
        rng=np.random.default_rng(0),
        sample_width=5,
    )
    assert all(tensor.data_ptr() % 64 == 0 for tensor in component.params.values())
