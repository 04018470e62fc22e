"""Densities of the latent space, from which Generative Replay draws."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from clearwatt.arrays import Float64Array
from clearwatt.strategies.mixture import fit_mixture

Density = Literal["prior", "gaussian", "mixture"]

PRECISION = torch.float32
"""Of the fit of a mixture; double takes twice as long for the same likelihood (benchmarks)."""
_RIDGE = 1e-5
"""Keeps the covariances of collapsed latent dimensions invertible; a share of large variances."""


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
        return _pack(np.ones(1), np.zeros((1, width)), np.eye(width)[None])
    if density == "gaussian" or len(z) < 2 * components:
        return _gaussian(z)
    for precision in dict.fromkeys((PRECISION, torch.float64)):
        try:
            return _mixture(z, components, seed, precision)
        except RuntimeError:  # torch: a matrix has no Cholesky factor
            continue
    # A component has no covariance if latents are too far apart. An update in service must not fail
    # because of that.
    return _gaussian(z)


def draw_latents(density: dict[str, Tensor], count: int, rng: np.random.Generator) -> Tensor:
    """Draw count x z latents from a fitted density."""
    weights = density["weights"].double().numpy()
    chosen = torch.from_numpy(rng.choice(len(weights), size=count, p=weights / weights.sum()))
    width = density["means"].shape[1]
    noise = torch.from_numpy(rng.standard_normal((count, width))).float()
    spread = torch.einsum("nij,nj->ni", density["factors"][chosen], noise)
    return density["means"][chosen] + spread


def _gaussian(z: Float64Array) -> dict[str, Tensor]:
    covariance = np.atleast_2d(np.cov(z, rowvar=False))
    ridge = _RIDGE * max(1.0, float(covariance.diagonal().max()))
    factor = np.linalg.cholesky(covariance + ridge * np.eye(len(covariance)))
    return _pack(np.ones(1), z.mean(0)[None], factor[None])


def _mixture(
    z: Float64Array, components: int, seed: int, precision: torch.dtype
) -> dict[str, Tensor]:
    """Fit a mixture by expectation maximisation, in coordinates in which the latents are white."""
    whole = _gaussian(z)
    centre, factor = whole["means"][0].double(), whole["factors"][0].double()
    white = torch.linalg.solve_triangular(factor, (torch.from_numpy(z) - centre).T, upper=False).T
    found = fit_mixture(white.to(precision), components, np.random.default_rng(seed))
    weights, means, factors = (part.double() for part in found)
    if not all(part.isfinite().all() for part in (weights, means, factors)):
        raise RuntimeError("the mixture is not finite")
    return _pack(weights.numpy(), (centre + means @ factor.T).numpy(), (factor @ factors).numpy())


def _pack(
    weights: npt.ArrayLike, means: npt.ArrayLike, factors: npt.ArrayLike
) -> dict[str, Tensor]:
    return {
        "weights": torch.as_tensor(np.asarray(weights), dtype=torch.float32),
        "means": torch.as_tensor(np.asarray(means), dtype=torch.float32),
        "factors": torch.as_tensor(np.asarray(factors), dtype=torch.float32),
    }
