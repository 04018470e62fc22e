"""A user's own modules in the stack."""

import pytest
import torch
from torch import nn

from clearwatt.errors import ConfigurationError
from clearwatt.training.fleet import Job, Training, train
from clearwatt.training.networks import ModuleAutoencoder, ModulePredictor, Predictor


def mlp():
    return nn.Sequential(nn.Linear(4, 9), nn.ReLU(), nn.Linear(9, 9), nn.ReLU(), nn.Linear(9, 1))


def encoder():
    return nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 3))


def decoder():
    return nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 6))


def named_as_built_in(params):
    """The module's `out x in` weights under the names and in the layout of `Predictor`."""
    return {
        f"layers.{int(name[0]) // 2}{name[1:]}": tensor.mT if "weight" in name else tensor
        for name, tensor in params.items()
    }


@pytest.fixture
def rows():
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(2, 300, 4, generator=generator)
    return x, x.sum(dim=2, keepdim=True).sin()


def test_module_equals_the_built_in_of_the_same_layers(rows):
    x, y = rows
    module, built_in = ModulePredictor(mlp, inputs=4), Predictor(inputs=4, width=9, layers=2)
    params, peers = module.initialise([1, 2]), built_in.initialise([1, 2])
    coefficients = torch.rand(2, 300)

    torch.testing.assert_close(module.forward(params, x), built_in.forward(peers, x))
    torch.testing.assert_close(module.forward(params, x[:1]), built_in.forward(peers, x[:1]))
    losses, gradient = module.gradients(params, x, y, coefficients=coefficients)
    peer_losses, peer_gradient = built_in.gradients(peers, x, y, coefficients=coefficients)
    torch.testing.assert_close(losses, peer_losses)
    fisher, peer_fisher = module.fisher(params, x, y), built_in.fisher(peers, x, y)
    for ours, theirs in ((gradient, peer_gradient), (fisher, peer_fisher)):
        for name, tensor in named_as_built_in(ours).items():
            torch.testing.assert_close(tensor, theirs[name], rtol=1e-4, atol=1e-6)


def test_module_trains_like_the_built_in(rows):
    x, y = rows
    training = Training(epochs=5)
    results = []
    for network in (ModulePredictor(mlp, inputs=4), Predictor(inputs=4, width=9, layers=2)):
        jobs = [Job(network, network.initialise([i]), x[i], y[i], training, seed=i) for i in (0, 1)]
        results.append([trained.training_loss for trained in train(jobs)])
    assert results[0] == pytest.approx(results[1], rel=1e-4)


def test_autoencoder_of_two_modules_learns():
    network = ModuleAutoencoder(encoder, decoder, inputs=6, latent=3)
    generator = torch.Generator().manual_seed(0)
    x = torch.rand(200, 2, generator=generator) @ torch.rand(2, 6, generator=generator)
    params = network.initialise([0])
    before = network.losses(params, x[None], x[None]).mean().item()
    [trained] = train([Job(network, params, x, None, Training(epochs=100), seed=0)])
    assert network.losses(trained.params, x[None], x[None]).mean().item() < before / 4
    z = network.encode(trained.params, x[None])
    assert z.shape == (1, 200, 3)
    torch.testing.assert_close(
        network.decode(trained.params, z), network.forward(trained.params, x[None])
    )


def test_initialisation_leaves_the_global_random_state_alone():
    torch.manual_seed(4)
    expected = torch.rand(1)
    torch.manual_seed(4)
    ModulePredictor(mlp, inputs=4).initialise([1, 2, 3])
    assert torch.equal(torch.rand(1), expected)


def test_equal_by_factory_and_sizes():
    def other():
        return mlp()

    assert ModulePredictor(mlp, inputs=4) == ModulePredictor(mlp, inputs=4)
    assert hash(ModulePredictor(mlp, inputs=4)) == hash(ModulePredictor(mlp, inputs=4))
    assert ModulePredictor(mlp, inputs=4) != ModulePredictor(other, inputs=4)


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: ModulePredictor(mlp, inputs=5), "does not accept b x 5"),
        (lambda: ModulePredictor(mlp, inputs=4, outputs=2), "must give 2 x 2"),
        (lambda: ModulePredictor(lambda: nn.BatchNorm1d(1), inputs=1), "LayerNorm"),
        (
            lambda: ModulePredictor(
                lambda: nn.Sequential(nn.Linear(4, 1), nn.Dropout(0.1)), inputs=4
            ),
            "dropout",
        ),
        (lambda: ModuleAutoencoder(encoder, encoder, inputs=6, latent=3), "does not accept b x 3"),
        (lambda: ModulePredictor(lambda: None, inputs=6), "a factory returned None"),
    ],
)
def test_modules_that_cannot_be_stacked_are_refused(make, named):
    with pytest.raises(ConfigurationError, match=named):
        make()
