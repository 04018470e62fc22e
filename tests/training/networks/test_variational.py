"""The variational autoencoder's own loss."""

import torch
from tests.training.networks.cases import case

from clearwatt.training.networks import (
    VariationalAutoencoder,
)


def test_variational_loss_adds_the_divergence_from_the_prior():
    network = VariationalAutoencoder(inputs=7, width=11, layers=2, latent=4, kl_weight=0.3)
    params, x, target, noise = case(network)
    mean, logvar = network.posterior(params, x)
    posterior = torch.distributions.Normal(mean, (0.5 * logvar).exp())
    prior = torch.distributions.Normal(torch.zeros_like(mean), torch.ones_like(mean))
    divergence = torch.distributions.kl_divergence(posterior, prior).sum(dim=2)
    drawn = network.decode(params, mean + noise * posterior.scale)
    expected = (drawn - target).square().mean(dim=2) + 0.3 * divergence
    torch.testing.assert_close(network.losses(params, x, target, noise), expected)
