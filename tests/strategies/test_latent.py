"""Densities of the latent space: what they fit, and what they draw."""

import numpy as np
import pytest
import torch

from clearwatt.strategies.latent import draw_latents, fit_density


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
