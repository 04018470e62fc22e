"""Ridge regression with forgetting: what it learns, and what it forgets."""

import numpy as np
import pytest

from clearwatt.adaptive.correction import Correction
from clearwatt.adaptive.terms import TERM_SETS


def fed(correction, coefficient, *, samples, passed, seed=0, entities=1):
    """Residuals that are `coefficient` times the forecast (term 1), all of one age."""
    rng = np.random.default_rng(seed)
    terms = rng.normal(size=(samples, entities, len(TERM_SETS["all"])))
    residuals = coefficient * terms[:, :, 1]
    correction.learn(terms, residuals, ages=np.zeros(samples), passed=passed)
    return correction


def test_it_finds_what_explains_the_residual():
    correction = fed(
        Correction(1, "calendar", half_life=100, ridge=1e-6), 0.5, samples=200, passed=0
    )
    expected = np.zeros(len(correction.columns))
    expected[1] = 0.5
    np.testing.assert_allclose(correction.coefficients[0], expected, atol=1e-6)
    terms = np.random.default_rng(1).normal(size=(3, 1, len(TERM_SETS["all"])))
    np.testing.assert_allclose(correction.apply(terms), 0.5 * terms[:, :, 1], atol=1e-5)


def test_what_is_a_half_life_old_counts_half():
    correction = Correction(1, "level", half_life=10, ridge=1e-9)
    ones = np.ones((1, 1, len(TERM_SETS["all"])))
    correction.learn(ones, np.array([[1.0]]), ages=np.zeros(1), passed=0)
    correction.learn(ones, np.array([[4.0]]), ages=np.zeros(1), passed=10)
    assert correction.coefficients[0, 0] == pytest.approx((0.5 * 1 + 4) / 1.5)


def test_samples_in_one_call_or_in_two_are_the_same():
    rng = np.random.default_rng(0)
    terms, residuals = rng.normal(size=(6, 2, len(TERM_SETS["all"]))), rng.normal(size=(6, 2))
    ages = np.arange(6, 0, -1.0)
    once, twice = (Correction(2, "all", half_life=5, ridge=1) for _ in range(2))
    once.learn(terms, residuals, ages=ages, passed=6)
    twice.learn(terms[:3], residuals[:3], ages=ages[:3] - 3, passed=3)
    twice.learn(terms[3:], residuals[3:], ages=ages[3:], passed=3)
    np.testing.assert_allclose(once.coefficients, twice.coefficients)


def test_without_evidence_nothing_is_corrected():
    correction = Correction(2, "errors", half_life=5, ridge=1)
    terms = np.ones((4, 2, len(TERM_SETS["all"])))
    residuals = np.stack([np.full(4, np.nan), np.ones(4)], axis=1)
    correction.learn(terms, residuals, ages=np.zeros(4), passed=1)
    expected = correction.apply(terms)
    assert (expected[:, 0] == 0).all()
    assert (expected[:, 1] > 0.5).all()


def test_ridge_holds_back_until_there_is_evidence():
    few = fed(Correction(1, "errors", half_life=100, ridge=5), 1.0, samples=2, passed=0)
    many = fed(Correction(1, "errors", half_life=100, ridge=5), 1.0, samples=500, passed=0)
    assert few.coefficients[0, 1] < 0.7
    assert 0.97 < many.coefficients[0, 1] < 1
