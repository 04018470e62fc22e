"""A mixture of Gaussians: it finds what samples are made of, and does not fail for few of them."""

import numpy as np
import pytest
import torch
from torch.distributions import Categorical, MixtureSameFamily, MultivariateNormal

from clearwatt.strategies.mixture import RIDGE, Mixture, fit_mixture


def three_clouds(count: int, seed: int) -> torch.Tensor:
    """A wide, a long and a small cloud, with 60, 30 and 10 % of the samples."""
    rng = np.random.default_rng(seed)
    which = rng.choice(3, size=count, p=[0.6, 0.3, 0.1])
    centres = np.array([[-3.0, 0.0], [3.0, 0.0], [0.0, 4.0]])
    shapes = np.array([[[0.4, 0.0], [0.0, 0.4]], [[0.1, 0.0], [0.5, 0.1]], [[0.1, 0], [0, 0.1]]])
    noise = rng.normal(size=(count, 2))
    return torch.from_numpy(centres[which] + np.einsum("nij,nj->ni", shapes[which], noise))


def fitted(z: torch.Tensor, components: int) -> Mixture:
    return fit_mixture(z, components, np.random.default_rng(0))


def likelihood(mixture: Mixture, z: torch.Tensor) -> float:
    parts = MultivariateNormal(mixture.means, scale_tril=mixture.factors)
    return MixtureSameFamily(Categorical(mixture.weights), parts).log_prob(z).mean().item()


def test_weights_means_and_shapes_are_found():
    mixture = fitted(three_clouds(6000, 0), 3)
    order = mixture.weights.argsort(descending=True)
    wide = order[0]
    assert mixture.weights[order].numpy() == pytest.approx([0.6, 0.3, 0.1], abs=0.02)
    assert mixture.means[wide].numpy() == pytest.approx([-3.0, 0.0], abs=0.05)
    covariance = mixture.factors[wide] @ mixture.factors[wide].T
    assert covariance.numpy() == pytest.approx(0.16 * np.eye(2) + RIDGE, abs=0.02)


def test_new_samples_are_about_as_likely_as_under_scikit_learn():
    from sklearn.mixture import GaussianMixture

    z, new = three_clouds(3000, 1), three_clouds(3000, 2)
    peer = GaussianMixture(3, n_init=5, random_state=0).fit(z.numpy())
    assert likelihood(fitted(z, 3), new) == pytest.approx(peer.score(new.numpy()), abs=0.02)


def test_components_without_samples_of_their_own_do_no_harm():
    """Fewer distinct samples than components: some start from the same one and stay empty."""
    z = torch.tensor([[-1.0, 0.0], [1.0, 0.0], [0.0, 1.0]], dtype=torch.float64).repeat(10, 1)
    mixture = fitted(z, 8)
    assert all(part.isfinite().all() for part in mixture)
    assert mixture.weights.sum().item() == pytest.approx(1.0)
    assert (mixture.weights @ mixture.means).numpy() == pytest.approx(z.mean(0).numpy(), abs=1e-6)


def test_the_fit_follows_the_seed():
    z = three_clouds(500, 3)
    first, again = fitted(z, 5), fitted(z, 5)
    other = fit_mixture(z, 5, np.random.default_rng(1))
    assert torch.equal(first.means, again.means)
    assert not torch.equal(first.means, other.means)
