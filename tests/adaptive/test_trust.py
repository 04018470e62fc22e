"""The mixture: least error on the simplex, per entity, following change."""

import numpy as np
import pytest

from clearwatt.adaptive.trust import Trust, least_on_simplex


def learned(trust, errors, *, passed=1.0):
    """Experts that miss zero by these errors, n x e x k."""
    measured = np.zeros(errors.shape[:2])
    return trust.learn(errors, measured, ages=np.zeros(len(errors)), passed=passed)


def noise(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


def test_weights_are_those_of_least_error_on_the_simplex():
    errors = noise(50, 3) @ noise(3, 3, seed=1)
    matrix = errors.T @ errors
    found = least_on_simplex(matrix[None], np.full((1, 3), 1 / 3))
    for _ in range(40):  # repeated, as from day to day
        found = least_on_simplex(matrix[None], found)
    grid = np.linspace(0, 1, 201)
    points = [(a, b, 1 - a - b) for a in grid for b in grid if a + b <= 1]
    best = min(np.array(p) @ matrix @ np.array(p) for p in points)
    assert found[0] @ matrix @ found[0] <= best * 1.01
    assert found.min() >= 0
    assert found.sum() == pytest.approx(1)


def test_each_entity_has_its_own_favourite():
    errors = noise(200, 2, 2)
    errors[:, 0, 0] *= 0.1
    errors[:, 1, 1] *= 0.1
    weights = learned(Trust.equal(2, 2, half_life=1e6, caution=1), errors).weights
    assert weights[0, 0] > 0.9
    assert weights[1, 1] > 0.9


def test_experts_that_miss_in_opposite_ways_are_mixed():
    miss = noise(200, 1)
    experts = np.stack([miss, -miss, 0.6 * noise(200, 1, seed=1)], axis=2)
    trust = Trust.equal(1, 3, half_life=1e6, caution=1)
    for _ in range(20):
        trust = learned(trust, experts)
    mixed = (experts * trust.weights).sum(axis=2)
    assert np.square(mixed).mean() < 0.1 * np.square(experts[..., 2]).mean()


def test_a_new_favourite_is_found_after_a_change():
    trust = Trust.equal(1, 2, half_life=48, caution=1)
    first, second = noise(24, 1, 2) * [0.1, 1], noise(24, 1, 2) * [1, 0.1]
    for _ in range(30):
        trust = learned(trust, first, passed=24)
    assert trust.weights[0, 0] > 0.9
    for _ in range(14):
        trust = learned(trust, second, passed=24)
    assert trust.weights[0, 1] > 0.9


def test_without_measurements_all_count_alike():
    trust = Trust.equal(1, 4, half_life=10, caution=5)
    nothing = np.full((3, 1), np.nan)
    trust = trust.learn(noise(3, 1, 4), nothing, ages=np.zeros(3), passed=1)
    np.testing.assert_allclose(trust.weights, 0.25)


def test_an_entity_that_joins_trusts_all_alike_and_leaves_the_others():
    trust = learned(Trust.equal(1, 2, half_life=1e6, caution=1), noise(50, 1, 2) * [0.1, 1])
    joined = trust.add_entities(1)
    np.testing.assert_array_equal(joined.weights[0], trust.weights[0])
    np.testing.assert_array_equal(joined.weights[1], [0.5, 0.5])
