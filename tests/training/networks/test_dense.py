"""The built-in networks: hand-written gradients, Fisher information, shapes, inference."""

import pytest
import torch
from tests.training.networks.cases import case

from clearwatt.errors import ConfigurationError
from clearwatt.training.networks import (
    Autoencoder,
    JointNetwork,
    Predictor,
    VariationalAutoencoder,
    select,
)

NETWORKS = [
    Autoencoder(inputs=7, width=11, layers=3, latent=4),
    VariationalAutoencoder(inputs=7, width=11, layers=2, latent=4, kl_weight=0.3),
    Predictor(inputs=4, width=9, layers=2),
    Predictor(inputs=4, width=8, layers=1, outputs=3),
    JointNetwork(
        VariationalAutoencoder(inputs=7, width=11, layers=2, latent=4, kl_weight=0.3),
        Predictor(inputs=4, width=9, layers=2),
    ),
]


@pytest.mark.parametrize("network", NETWORKS, ids=repr)
def test_gradients_equal_autograd(network):
    params, x, target, noise = case(network)
    coefficients = torch.rand(x.shape[:2], dtype=torch.float64)
    losses, found = network.gradients(params, x, target, coefficients=coefficients, noise=noise)

    leaves = {name: tensor.requires_grad_() for name, tensor in params.items()}
    expected = network.losses(leaves, x, target, noise)
    gradients = torch.autograd.grad((coefficients * expected).sum(), list(leaves.values()))

    torch.testing.assert_close(losses, expected.detach())
    for name, gradient in zip(leaves, gradients, strict=True):
        torch.testing.assert_close(found[name], gradient)
        assert gradient.abs().max() > 0


@pytest.mark.parametrize("network", NETWORKS, ids=repr)
def test_fisher_is_the_mean_of_squared_per_sample_gradients(network):
    params, x, target, noise = case(network)
    found = network.fisher(params, x, target, noise)

    leaves = {name: tensor.requires_grad_() for name, tensor in params.items()}
    losses = network.losses(leaves, x, target, noise)
    expected = {name: torch.zeros_like(tensor) for name, tensor in params.items()}
    for sample in range(x.shape[1]):
        each = torch.autograd.grad(
            losses[:, sample].sum(), list(leaves.values()), retain_graph=True
        )
        for name, gradient in zip(leaves, each, strict=True):
            expected[name] += gradient.square() / x.shape[1]

    for name, tensor in expected.items():
        torch.testing.assert_close(found[name], tensor)


def test_fisher_in_blocks_equals_the_mean_over_the_parts():
    network = NETWORKS[0]
    params, x, _, _ = case(network, members=2, rows=5000)
    whole = network.fisher(params, x, x)
    parts = [network.fisher(params, part, part) for part in (x[:, :1000], x[:, 1000:])]
    for name, tensor in whole.items():
        torch.testing.assert_close(tensor, 0.2 * parts[0][name] + 0.8 * parts[1][name])


@pytest.mark.parametrize("network", NETWORKS, ids=repr)
def test_aligned_weights_are_the_same_function_and_stay_so(network):
    params, x, target, noise = case(network)
    aligned = network.align(params)
    assert all(width % 8 == 0 for chain in network.chains for width in chain.aligned_widths[1:-1])

    rows = torch.stack([network.align_inputs(member) for member in x])
    wanted = torch.stack([network.align_targets(member) for member in target])
    coefficients = torch.ones(x.shape[:2], dtype=torch.float64)
    losses, found = network.gradients(aligned, rows, wanted, coefficients=coefficients, noise=noise)
    expected_losses, expected = network.gradients(
        params, x, target, coefficients=coefficients, noise=noise
    )

    torch.testing.assert_close(losses, expected_losses)
    for name, tensor in network.trim(found).items():
        torch.testing.assert_close(tensor, expected[name])
        assert found[name].abs().sum().item() == pytest.approx(tensor.abs().sum().item())
    for name, tensor in network.trim(aligned).items():
        torch.testing.assert_close(tensor, params[name], rtol=0, atol=0)


@pytest.mark.parametrize("network", NETWORKS, ids=repr)
def test_a_member_depends_on_its_own_seed_only(network):
    both, alone = network.initialise([3, 8]), network.initialise([8])
    for name, tensor in alone.items():
        torch.testing.assert_close(select(both, 1)[name], tensor, rtol=0, atol=0)
    assert any(not torch.equal(tensor[0], tensor[1]) for tensor in both.values())


@pytest.mark.parametrize("network", NETWORKS, ids=repr)
@pytest.mark.parametrize("rows", [1, 255, 256, 5000])
def test_inference_equals_the_differentiable_forward(network, rows):
    params, x, _, _ = case(network, members=2, rows=rows)
    found = network.forward(params, x)
    expected = network.forward({n: t.requires_grad_() for n, t in params.items()}, x)
    assert expected.requires_grad
    torch.testing.assert_close(found, expected.detach())


@pytest.mark.parametrize("rows", [3, 3000])
def test_models_share_one_block_of_samples(rows):
    network = NETWORKS[2]
    params, x, _, _ = case(network, members=3, rows=rows)
    shared = network.forward(params, x[:1])
    torch.testing.assert_close(shared, network.forward(params, x[:1].repeat(3, 1, 1)))


def test_forward_is_decoding_of_the_encoding():
    for network in NETWORKS[:2]:
        params, x, _, _ = case(network, rows=400)
        z = network.encode(params, x)
        assert z.shape == (3, 400, 4)
        torch.testing.assert_close(network.decode(params, z), network.forward(params, x))


def test_networks_are_equal_by_value():
    assert Predictor(4, 9, 2) == Predictor(4, 9, 2)
    assert hash(Autoencoder(7, 11)) == hash(Autoencoder(7, 11))
    assert Predictor(4, 9, 2) != Predictor(4, 9, 3)


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: Predictor(inputs=0), "inputs is 0"),
        (lambda: Autoencoder(inputs=3, layers=0), "layers is 0"),
        (lambda: Autoencoder(inputs=3, width=8.5), "width is 8.5; it must be a whole number"),
        (lambda: Autoencoder(inputs=3, latent=-1), "latent is -1"),
        (lambda: VariationalAutoencoder(inputs=3, kl_weight=-0.1), "kl_weight is -0.1"),
        (lambda: VariationalAutoencoder(inputs=3, kl_weight=float("nan")), "kl_weight is nan"),
    ],
)
def test_impossible_shapes_are_refused_by_name(make, named):
    with pytest.raises(ConfigurationError, match=named):
        make()
