"""Novelty of inputs by the directions of what is held."""

import numpy as np

from clearwatt.adaptive.novelty import InputModel


def plane(n, seed=0):
    """Points near a plane in five dimensions."""
    rng = np.random.default_rng(seed)
    basis = np.random.default_rng(9).normal(size=(2, 5))
    return (rng.normal(size=(n, 2)) @ basis + 0.05 * rng.normal(size=(n, 5))).astype(np.float32)


def test_inputs_like_those_held_are_reconstructed_and_others_are_not():
    model = InputModel.fit(plane(500))
    like = model.errors(plane(200, seed=1))
    unlike = model.errors(plane(200, seed=2) + np.float32([0, 0, 0, 0, 3]))
    assert model.directions.shape == (5, 2)
    assert like.mean() < 1.3 * model.error
    assert (unlike > 1.3 * model.error).mean() > 0.9


def test_inputs_that_never_change_have_no_error():
    same = np.ones((10, 3), np.float32)
    model = InputModel.fit(same)
    assert model.error == 0
    assert (model.errors(same) == 0).all()
