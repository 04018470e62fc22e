"""An epoch's plan: every sample once, short batches weighted by their true size."""

import torch

from clearwatt.training.fleet import Job, Training
from clearwatt.training.fleet.member import plan_epoch
from clearwatt.training.networks import Predictor, VariationalAutoencoder

PREDICTOR = Predictor(inputs=2, width=8, layers=1)


def job(n, **changes):
    x = torch.rand(n, 2)
    params = PREDICTOR.initialise([0])
    return Job(PREDICTOR, params, x, x[:, :1], Training(batch=4), seed=0, **changes)


def test_every_sample_counts_once():
    plan = plan_epoch(job(10), torch.Generator().manual_seed(0))
    counted = plan.order[plan.coefficients > 0]
    assert sorted(counted.tolist()) == list(range(10))
    assert plan.sizes.tolist() == [4, 4, 2]
    torch.testing.assert_close(plan.coefficients.sum(dim=1), torch.ones(3))


def test_weights_follow_their_samples():
    weights = torch.arange(8.0)
    plan = plan_epoch(job(8, weights=weights), torch.Generator().manual_seed(0))
    torch.testing.assert_close(plan.coefficients, weights[plan.order] / 4)


def test_noise_is_drawn_only_where_the_loss_needs_it():
    network = VariationalAutoencoder(inputs=2, width=8, layers=1, latent=3)
    each = Job(network, network.initialise([0]), torch.rand(5, 2), None, Training(batch=4), seed=0)
    assert plan_epoch(each, torch.Generator()).noise.shape == (2, 4, 3)
    assert plan_epoch(job(5), torch.Generator()).noise.shape == (2, 4, 0)
