"""Densities of the latent space: what they fit, and what they draw."""

import numpy as np
import pytest
import torch
from torch.distributions import Categorical, MixtureSameFamily, MultivariateNormal

from clearwatt.strategies import latent
from clearwatt.strategies.latent import draw_latents, fit_density
from clearwatt.strategies.mixture import fit_mixture


def two_clouds(count: int = 2000) -> torch.Tensor:
    """Clouds around (-3, 0) and (3, 1), flat in a third dimension, as a collapsed latent is."""
    rng = np.random.default_rng(0)
    centres = np.array([[-3.0, 0.0, 2.0], [3.0, 1.0, 2.0]])[np.arange(count) % 2]
    return torch.from_numpy(centres + rng.normal(size=(count, 3)) * [0.3, 0.5, 0.0]).float()


def drawn(density: str, count: int = 4000, *, latents=None) -> torch.Tensor:
    latents = two_clouds() if latents is None else latents
    state = fit_density(latents, density, components=4, seed=0)
    return draw_latents(state, count, np.random.default_rng(1))


def test_the_prior_ignores_the_latents():
    z = drawn("prior")
    assert z.mean(0).abs().max() < 0.1
    assert (z.std(0) - 1).abs().max() < 0.1


@pytest.mark.parametrize("density", ["gaussian", "mixture"])
def test_a_fitted_density_has_the_moments_of_the_latents(density):
    z, wanted = drawn(density), two_clouds()
    assert torch.allclose(z.mean(0), wanted.mean(0), atol=0.2)
    assert torch.allclose(torch.cov(z.T), torch.cov(wanted.T), atol=0.4)


def test_a_mixture_leaves_the_gap_between_clouds_empty():
    """Where a single Gaussian puts a good part of its samples."""
    empty = {
        kind: (drawn(kind)[:, 0].abs() < 1.0).float().mean() for kind in ("gaussian", "mixture")
    }
    assert empty["mixture"] < 0.02
    assert empty["gaussian"] > 0.1


def test_too_few_latents_for_a_mixture_fall_back_to_a_gaussian():
    few = two_clouds(7)
    state = fit_density(few, "mixture", components=4, seed=0)
    assert len(state["weights"]) == 1
    assert torch.allclose(state["means"][0], few.mean(0), atol=1e-5)


@pytest.mark.parametrize("scale", [1e-8, 1e4, 1e6])
@pytest.mark.parametrize("density", ["gaussian", "mixture"])
def test_latents_of_any_scale_leave_a_density_to_draw_from(density, scale):
    latents = two_clouds(40)[:, :1].expand(-1, 3) * scale  # on a line: of no rank to speak of
    z = drawn(density, latents=latents)
    assert z.isfinite().all()
    assert torch.allclose(z.mean(0), latents.mean(0), atol=0.2 * scale + 0.01)


def test_one_latent_dimension_works():
    z = drawn("gaussian", latents=two_clouds()[:, :1])
    assert z.shape == (4000, 1)


def test_drawing_follows_the_seed():
    state = fit_density(two_clouds(), "mixture", components=4, seed=0)
    first, again, other = (
        draw_latents(state, 5, np.random.default_rng(seed)) for seed in (3, 3, 4)
    )
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def outliers() -> torch.Tensor:
    """Four of 4,000 latents far from the others: their squares hide their spread in float32."""
    rng = np.random.default_rng(2)
    z = rng.normal(size=(4000, 6))
    z[:4] = 5e3 + 1e-3 * rng.normal(size=(4, 6))
    return torch.from_numpy(z).float()


def likelihood(density, z: torch.Tensor) -> float:
    """Mean log-likelihood of latents under a fitted density."""
    mixture = MixtureSameFamily(
        Categorical(density["weights"].double()),
        MultivariateNormal(density["means"].double(), scale_tril=density["factors"].double()),
    )
    return mixture.log_prob(z.double()).mean().item()


def test_single_precision_finds_as_likely_a_mixture_as_double(monkeypatch):
    rng = np.random.default_rng(3)
    clouds = rng.normal(size=(12, 1, 6)) * 3 + rng.normal(size=(12, 400, 6)) * rng.random(
        (12, 1, 6)
    )
    z = torch.from_numpy(rng.permutation(clouds.reshape(-1, 6))).float()
    found = []
    for precision in (torch.float32, torch.float64):
        monkeypatch.setattr(latent, "PRECISION", precision)
        density = fit_density(z[:2400], "mixture", components=12, seed=0)
        found.append(likelihood(density, z[2400:]))
    assert found[0] == pytest.approx(found[1], abs=0.02)


def test_latents_too_far_apart_for_single_precision_are_fitted_in_double():
    z = outliers()
    white = (z - z.mean(0)).double() @ torch.linalg.inv(
        torch.linalg.cholesky(torch.cov(z.T.double()))
    ).T
    with pytest.raises(RuntimeError, match=r"[Cc]holesky"):
        fit_mixture(white.float(), 8, np.random.default_rng(0))
    density = fit_density(z, "mixture", components=8, seed=0)
    assert len(density["weights"]) == 8
    far = draw_latents(density, 4000, np.random.default_rng(1))[:, 0] > 1e3
    assert 0 < far.sum() < 40
