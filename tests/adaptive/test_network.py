"""Dropout as a function of the fleet's noise: exact gradients, repeatable, stackable."""

import pytest
import torch

from clearwatt.adaptive.network import DropoutPredictor
from clearwatt.errors import ConfigurationError
from clearwatt.training.fleet import Job, Training, train

NETWORK = DropoutPredictor(inputs=5, width=8, layers=2, dropout=0.3)


def draw(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def draw_gains(*shape, network=NETWORK, seed=0, dtype=torch.float64):
    generator = torch.Generator().manual_seed(seed)
    return network.noise_of(
        torch.randn(*shape, network.noise_width, generator=generator, dtype=dtype)
    )


def doubled(params):
    return {name: tensor.double() for name, tensor in params.items()}


def test_gradients_equal_autograd_with_the_same_neurons_dropped():
    params = doubled(NETWORK.initialise([1, 2]))
    x, target, noise = draw(2, 12, 5), draw(2, 12, 1, seed=1), draw_gains(2, 12, seed=2)
    coefficients = torch.rand(2, 12, dtype=torch.float64)
    losses, found = NETWORK.gradients(params, x, target, coefficients=coefficients, noise=noise)

    leaves = {name: tensor.requires_grad_() for name, tensor in params.items()}
    expected = NETWORK.losses(leaves, x, target, noise)
    gradients = torch.autograd.grad((coefficients * expected).sum(), list(leaves.values()))

    torch.testing.assert_close(losses, expected.detach())
    for name, gradient in zip(leaves, gradients, strict=True):
        torch.testing.assert_close(found[name], gradient)


def test_dropping_changes_the_loss_but_not_a_forecast():
    params = NETWORK.initialise([1])
    x, target = draw(1, 50, 5).float(), draw(1, 50, 1, seed=1).float()
    whole = NETWORK.losses(params, x, target)
    gains = draw_gains(1, 50, dtype=torch.float32)
    assert not torch.equal(NETWORK.losses(params, x, target, gains), whole)
    torch.testing.assert_close((NETWORK.forward(params, x) - target).square()[..., 0], whole)


def test_what_is_left_is_scaled_so_that_a_neuron_counts_the_same_on_average():
    linear = DropoutPredictor(inputs=1, width=8, layers=1, dropout=0.3)
    params = {name: torch.ones_like(tensor) for name, tensor in linear.initialise([0]).items()}
    x, target = torch.ones(1, 20_000, 1), torch.zeros(1, 20_000, 1)
    # 1 + (1 + 1) * kept / 0.7 with 5.6 kept on average; never negative, so the root gives it back.
    gains = draw_gains(1, 20_000, network=linear, dtype=torch.float32)
    forecasts = linear.losses(params, x, target, gains).sqrt()
    assert float(forecasts.mean()) == pytest.approx(17, rel=0.01)


def test_a_gain_is_0_for_the_share_of_neurons_that_is_dropped():
    gains = draw_gains(1, 20_000)
    assert gains.unique().tolist() == pytest.approx([0, 1 / 0.7])
    assert float((gains == 0).double().mean()) == pytest.approx(0.3, abs=0.01)


def test_a_width_that_trains_slowly_is_refused():
    with pytest.raises(ConfigurationError, match="multiple of 8"):
        DropoutPredictor(inputs=5, width=9)


def test_a_member_trains_alike_alone_and_in_a_stack():
    training = Training(epochs=3, batch=16, patience=None)
    jobs = [
        Job(
            NETWORK,
            doubled(NETWORK.initialise([seed])),
            draw(70, 5, seed=seed),
            draw(70, 1, seed=seed + 10),
            training,
            seed=seed,
        )
        for seed in (1, 2)
    ]
    together = train(jobs)
    for job, stacked in zip(jobs, together, strict=True):
        (alone,) = train([job])
        for name, tensor in alone.params.items():
            torch.testing.assert_close(stacked.params[name], tensor)
            assert not torch.equal(tensor, job.params[name])


@pytest.mark.parametrize("dropout", [0.0, 1.0, -0.1])
def test_a_dropout_that_drops_nothing_or_all_is_refused(dropout):
    with pytest.raises(ConfigurationError, match=str(dropout)):
        DropoutPredictor(inputs=5, dropout=dropout)
