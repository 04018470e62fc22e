"""Densities of the latent space: what Generative Replay draws from instead of keeping samples."""

from __future__ import annotations

import warnings
from typing import Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

Density = Literal["prior", "gaussian", "mixture"]
Array = npt.NDArray[np.float64]

_RIDGE = 1e-6  # keeps covariances of collapsed latent dimensions invertible


def fit_density(
    latents: Tensor, density: Density, *, components: int, seed: int
) -> dict[str, Tensor]:
    """Fit the aggregated posterior on latents (n x z).

    Gives weights (k), means (k x z) and Cholesky factors of the covariances (k x z x z).
    "prior" is the standard normal the encoder was regularised towards; nothing is fitted.
    """
    z = latents.double().numpy()
    width = z.shape[1]
    if density == "prior":
        return _packed(np.ones(1), np.zeros((1, width)), np.eye(width)[None])
    if density == "gaussian" or len(z) < 2 * components:
        covariance = np.atleast_2d(np.cov(z, rowvar=False)) + _RIDGE * np.eye(width)
        return _packed(np.ones(1), z.mean(0)[None], np.linalg.cholesky(covariance)[None])
    return _mixture(z, components, seed)


def draw_latents(density: dict[str, Tensor], count: int, rng: np.random.Generator) -> Tensor:
    """Draw count x z latents from a fitted density."""
    weights = density["weights"].double().numpy()
    chosen = torch.from_numpy(rng.choice(len(weights), size=count, p=weights / weights.sum()))
    width = density["means"].shape[1]
    noise = torch.from_numpy(rng.standard_normal((count, width))).float()
    spread = torch.einsum("nij,nj->ni", density["factors"][chosen], noise)
    return density["means"][chosen] + spread


def _mixture(z: Array, components: int, seed: int) -> dict[str, Tensor]:
    from sklearn.mixture import GaussianMixture

    model = GaussianMixture(components, reg_covar=_RIDGE, random_state=seed, max_iter=30)
    with warnings.catch_warnings():
        # A density that has not fully converged still covers the data; more steps gain nothing.
        warnings.simplefilter("ignore")
        model.fit(z)
    return _packed(model.weights_, model.means_, np.linalg.cholesky(model.covariances_))


def _packed(
    weights: npt.ArrayLike, means: npt.ArrayLike, factors: npt.ArrayLike
) -> dict[str, Tensor]:
    return {
        "weights": torch.as_tensor(np.asarray(weights), dtype=torch.float32),
        "means": torch.as_tensor(np.asarray(means), dtype=torch.float32),
        "factors": torch.as_tensor(np.asarray(factors), dtype=torch.float32),
    }
