"""An autoencoder and a predictor that train as one network."""

import pytest
import torch
from tests.training.networks.cases import case

from clearwatt.errors import ConfigurationError, DataError
from clearwatt.training.fleet import Job, Training, train
from clearwatt.training.networks import Autoencoder, JointNetwork, Predictor, VariationalAutoencoder

AUTOENCODER = VariationalAutoencoder(inputs=7, width=11, layers=2, latent=4, kl_weight=0.3)
PREDICTOR = Predictor(inputs=4, width=9, layers=2)
NETWORK = JointNetwork(AUTOENCODER, PREDICTOR)
TRAINING = Training(epochs=150, patience=None, learning_rate=5e-3)
X = torch.randn(200, 7, generator=torch.Generator().manual_seed(0))


def test_its_loss_is_that_of_both():
    params, x, target, noise = case(NETWORK)
    encoder, head = NETWORK.split(params)
    forecasts = PREDICTOR.forward(head, AUTOENCODER.encode(encoder, x))
    torch.testing.assert_close(NETWORK.forward(params, x), forecasts)
    errors = (forecasts - target).square()[..., 0]
    expected = AUTOENCODER.losses(encoder, x, x, noise) + errors
    torch.testing.assert_close(NETWORK.losses(params, x, target, noise), expected)


def test_what_was_not_measured_teaches_the_autoencoder_only():
    params, x, target, noise = case(NETWORK)
    target[:] = torch.nan
    encoder, _ = NETWORK.split(params)
    coefficients = torch.rand(x.shape[:2], dtype=torch.float64)
    losses, found = NETWORK.gradients(params, x, target, coefficients=coefficients, noise=noise)
    alone = AUTOENCODER.gradients(encoder, x, x, coefficients=coefficients, noise=noise)
    torch.testing.assert_close(losses, alone[0])
    torch.testing.assert_close(NETWORK.losses(params, x, target, noise), alone[0])
    of_encoder, of_head = NETWORK.split(found)
    torch.testing.assert_close(of_encoder, alone[1])
    assert all(not gradient.any() for gradient in of_head.values())


def test_forecasts_reach_the_encoder_but_not_the_decoder():
    params, x, target, noise = case(NETWORK)
    ones = torch.ones(x.shape[:2], dtype=torch.float64)
    found = [
        NETWORK.gradients(params, x, wanted, coefficients=ones, noise=noise)[1]
        for wanted in (target, target + 1)
    ]
    changed = {name for name in params if not torch.equal(found[0][name], found[1][name])}
    assert changed == {name for name in params if not name.startswith("decoder")}


def test_the_weights_of_both_are_split_and_joined():
    params = NETWORK.initialise([3])
    encoder, head = NETWORK.split(params)
    assert encoder.keys() == AUTOENCODER.initialise([0]).keys()
    assert head.keys() == PREDICTOR.initialise([0]).keys()
    assert NETWORK.join(encoder, head).keys() == params.keys()


def job(targets, network=NETWORK, training=TRAINING):
    return Job(network, network.initialise([0]), X, targets, training, 0)


def test_members_with_other_divergences_train_in_one_stack():
    power = X[:, :1] - X[:, 1:2]
    others = [
        JointNetwork(VariationalAutoencoder(7, 11, 2, 4, kl_weight=weight), PREDICTOR)
        for weight in (0.0, 0.3)
    ]
    short = Training(epochs=3, patience=None)
    together = train([job(power, each, short) for each in others])
    for trained, network in zip(together, others, strict=True):
        (alone,) = train([job(power, network, short)])
        torch.testing.assert_close(trained.params, alone.params, rtol=1e-4, atol=1e-6)
    assert together[0].training_loss < together[1].training_loss


def test_gaps_in_the_targets_are_learned_around_and_infinity_is_refused():
    power = X[:, :1] - X[:, 1:2]
    gaps = torch.where(torch.arange(200)[:, None] % 4 == 0, torch.nan, power)
    (trained,) = train([job(gaps)])
    assert not trained.diverged
    error = (NETWORK.forward(trained.params, X[None])[0] - power).square().mean().sqrt()
    assert error < 0.5 * power.std()
    with pytest.raises(DataError, match="targets hold NaN or infinity"):
        job(torch.full_like(power, torch.inf))


def test_networks_that_do_not_fit_are_refused():
    with pytest.raises(ConfigurationError, match="takes 5 values, but the autoencoder has 4"):
        JointNetwork(AUTOENCODER, Predictor(inputs=5))
    with pytest.raises(ConfigurationError, match="Autoencoder and Predictor cannot train as one"):
        JointNetwork.of(Autoencoder(inputs=7, latent=4), PREDICTOR)
