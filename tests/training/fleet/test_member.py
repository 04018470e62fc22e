"""An epoch's plan: every sample once, short batches weighted by their true size."""

import torch

from clearwatt.training.fleet import Job, Training
from clearwatt.training.fleet.member import EpochPlanner
from clearwatt.training.networks import Predictor, VariationalAutoencoder

PREDICTOR = Predictor(inputs=2, width=8, layers=1)


def job(n, **changes):
    x = torch.rand(n, 2)
    params = PREDICTOR.initialise([0])
    return Job(PREDICTOR, params, x, x[:, :1], Training(batch=4), seed=0, **changes)


def test_every_sample_counts_once():
    plan = EpochPlanner(job(10)).plan()
    counted = plan.order[plan.coefficients > 0]
    assert sorted(counted.tolist()) == list(range(10))
    assert plan.sizes.tolist() == [4, 4, 2]
    torch.testing.assert_close(plan.coefficients.sum(dim=1), torch.ones(3))


def test_weights_follow_their_samples():
    weights = torch.arange(8.0)
    plan = EpochPlanner(job(8, weights=weights)).plan()
    torch.testing.assert_close(plan.coefficients, weights[plan.order] / 4)


def test_noise_is_drawn_only_where_the_loss_needs_it():
    network = VariationalAutoencoder(inputs=2, width=8, layers=1, latent=3)
    each = Job(network, network.initialise([0]), torch.rand(5, 2), None, Training(batch=4), seed=0)
    assert EpochPlanner(each).plan().noise.shape == (2, 4, 3)
    assert EpochPlanner(job(5)).plan().noise.shape == (2, 4, 0)


def test_each_epoch_has_an_order_of_its_own():
    planner = EpochPlanner(job(10))
    first, second = (planner.plan().order.flatten()[:10].tolist() for _ in range(2))
    assert sorted(first) == sorted(second)
    assert first != second
