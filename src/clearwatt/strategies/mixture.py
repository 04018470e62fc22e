"""A mixture of Gaussians, fitted with a few large matrix products.

The log-density of a Gaussian is linear in the products of coordinates, the coordinates and 1. With
these as features of a sample, both halves of expectation maximisation are one product each.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

STEPS = 10
"""Steps of expectation maximisation; more did not change the replay measurably."""

RIDGE = 1e-5
"""Added to every variance, as a share of the whole data's: no component becomes a point."""


class Mixture(NamedTuple):
    """Weights (k), means (k x z) and Cholesky factors of the covariances (k x z x z)."""

    weights: Tensor
    means: Tensor
    factors: Tensor


def fit_mixture(z: Tensor, components: int, rng: np.random.Generator) -> Mixture:
    """Fit a mixture of Gaussians with full covariances.

    Args:
        z: Samples, n x z; about white, because variances below `RIDGE` cannot be resolved. Their
            precision is that of the fit.
        components: How many Gaussians.
        rng: Draws the samples that the components start from.
    """
    features = _features(z)
    shares = _nearest(z, _spread_out(z, components, rng))
    mixture = _maximise(shares, features, width=z.shape[1])
    for _ in range(STEPS):
        shares = (features @ _coefficients(mixture).T).softmax(dim=1)
        mixture = _maximise(shares, features, width=z.shape[1])
    return mixture


def _features(z: Tensor) -> Tensor:
    """Products of coordinates (each pair once), coordinates and 1: n x f."""
    first, second = torch.triu_indices(z.shape[1], z.shape[1])
    return torch.cat([z[:, first] * z[:, second], z, z.new_ones(len(z), 1)], dim=1)


def _coefficients(mixture: Mixture) -> Tensor:
    """Coefficients of the features in each component's log-density plus log-weight: k x f."""
    precision = torch.cholesky_inverse(mixture.factors)
    pulled = (precision @ mixture.means.unsqueeze(2)).squeeze(2)
    first, second = torch.triu_indices(*precision.shape[1:])
    twice = torch.where(first == second, 1.0, 2.0)  # each pair counts in both orders
    spread = mixture.factors.diagonal(dim1=1, dim2=2).log().sum(dim=1)
    constant = mixture.weights.log() - spread - 0.5 * (pulled * mixture.means).sum(dim=1)
    return torch.cat(
        [-0.5 * twice * precision[:, first, second], pulled, constant.unsqueeze(1)], dim=1
    )


def _maximise(shares: Tensor, features: Tensor, *, width: int) -> Mixture:
    """The mixture of highest likelihood, given each component's share of each sample (n x k)."""
    sums = shares.T @ features
    counts = sums[:, -1:].clamp(min=torch.finfo(sums.dtype).tiny)
    moments = sums / counts
    means = moments[:, -width - 1 : -1]
    first, second = torch.triu_indices(width, width)
    squares = sums.new_empty(len(sums), width, width)
    squares[:, first, second] = squares[:, second, first] = moments[:, : len(first)]
    covariances = squares - means.unsqueeze(2) * means.unsqueeze(1)
    covariances.diagonal(dim1=1, dim2=2).add_(RIDGE)
    weights = counts.squeeze(1) / len(features)
    return Mixture(weights, means, torch.linalg.cholesky(covariances))


def _spread_out(z: Tensor, count: int, rng: np.random.Generator) -> Tensor:
    """Samples far from each other, count x z, drawn as k-means++ does."""
    chosen = [int(rng.integers(len(z)))]
    squares = z.square().sum(dim=1)
    nearest = torch.full_like(squares, torch.inf)
    for draw in rng.random(count - 1):
        last = z[chosen[-1]]
        distance = torch.addmv(squares, z, last, alpha=-2).add_(squares[chosen[-1]])
        nearest = torch.minimum(nearest, distance.clamp_(min=0))
        total = nearest.cumsum(dim=0)
        chosen.append(min(int(torch.searchsorted(total, draw * total[-1])), len(z) - 1))
    return z[torch.tensor(chosen)]


def _nearest(z: Tensor, centres: Tensor) -> Tensor:
    """1 where a centre is the nearest to a sample, else 0: n x k."""
    distances = centres.square().sum(dim=1) - 2 * z @ centres.T
    return torch.nn.functional.one_hot(distances.argmin(dim=1), len(centres)).to(z.dtype)
