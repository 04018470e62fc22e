"""Flat storage and Adam."""

import torch

from clearwatt.training.fleet import Training
from clearwatt.training.fleet.weights import Weights, flat_views, flatten


def example(members=3):
    generator = torch.Generator().manual_seed(0)
    return {
        "weight": torch.randn(members, 3, 5, generator=generator),
        "bias": torch.randn(members, 5, generator=generator),
    }


def test_views_show_and_share_the_flat_tensor():
    params = example()
    flat, views = flatten(params)
    assert all(torch.equal(views[name], tensor) for name, tensor in params.items())
    flat.zero_()
    assert not any(view.any() for view in views.values())
    assert {name: view.shape for name, view in flat_views(flat, params).items()} == {
        name: tensor.shape for name, tensor in params.items()
    }


def test_steps_equal_torchs_adam_even_after_members_left():
    params = example()
    peers = {name: tensor[1:].clone().requires_grad_() for name, tensor in params.items()}
    optimizer = torch.optim.Adam(peers.values(), lr=0.1, weight_decay=0.01)
    weights = Weights(params, Training(learning_rate=0.1, weight_decay=0.01))
    generator = torch.Generator().manual_seed(1)
    for step in range(6):
        if step == 3:
            weights = weights.keep([1, 2])
        for name, tensor in peers.items():
            tensor.grad = torch.randn(tensor.shape, generator=generator)
            weights.gradients[name][-2:] = tensor.grad
        optimizer.step()
        weights.step()
    for name, tensor in peers.items():
        torch.testing.assert_close(weights.params[name], tensor.detach())


def test_a_mean_follows_the_weights_of_each_step_even_after_members_left():
    weights = Weights(example(), Training(learning_rate=0.1, averaging=0.9))
    generator = torch.Generator().manual_seed(1)
    mean = {name: tensor[2:].clone() for name, tensor in weights.params.items()}
    for step in range(1, 200):
        if step == 195:  # soon before the end: a mean forgets in 100 steps what it was
            weights = weights.keep([1, 2])
        for gradient in weights.gradients.values():
            gradient.copy_(torch.randn(gradient.shape, generator=generator))
        weights.step()
        decay = min(0.9, (1 + step) / (10 + step))
        for name, tensor in weights.params.items():
            mean[name] = decay * mean[name] + (1 - decay) * tensor[-1:]
    for name, tensor in weights.member(1).items():
        torch.testing.assert_close(tensor, mean[name])
        assert not torch.equal(tensor, weights.params[name][1:])


def test_without_a_mean_the_result_is_that_of_the_last_step():
    weights = Weights(example(), Training(learning_rate=0.1))
    weights.gradients["weight"].fill_(1.0)
    weights.step()
    assert torch.equal(weights.member(0)["weight"], weights.params["weight"][:1])
