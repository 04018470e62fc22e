"""Ridge regressions with forgetting: what they learn, and what they forget."""

import numpy as np
import pytest

from clearwatt.adaptive.corrections import Corrections
from clearwatt.adaptive.settings import Correction
from clearwatt.adaptive.terms import TERM_SETS, TERMS


def empty(*kinds, ridge=1.0, entities=1):
    """Corrections on a clock of one step a day, so that half-lives are steps."""
    return Corrections.empty([Correction(*k) for k in kinds], day=1, ridge=ridge, entities=entities)


def fed(corrections, coefficient, *, samples, passed=0, seed=0, entities=1):
    """Residuals that are `coefficient` times the forecast (term 1), all of one age."""
    rng = np.random.default_rng(seed)
    terms = rng.normal(size=(samples, entities, TERMS))
    residuals = coefficient * terms[:, :, 1]
    return corrections.learn(terms, residuals, ages=np.zeros(samples), passed=passed)


def test_it_finds_what_explains_the_residual():
    found = fed(empty(("calendar", 100), ridge=1e-6), 0.5, samples=200).solve()
    expected = np.zeros(TERMS)
    expected[1] = 0.5
    np.testing.assert_allclose(found[0, 0], expected, atol=1e-6)


def test_each_correction_uses_its_own_terms_and_half_life_as_if_it_were_alone():
    rng = np.random.default_rng(0)
    terms, residuals = rng.normal(size=(40, 2, TERMS)), rng.normal(size=(40, 2))
    ages = np.arange(40, 0, -1.0)
    kinds = [("level", 3.0), ("errors", 10.0), ("lags", 3.0), ("all", 40.0)]
    together = empty(*kinds, entities=2).learn(terms, residuals, ages=ages, passed=40).solve()
    for place, (name, half_life) in enumerate(kinds):
        columns = list(TERM_SETS[name])
        weights = 0.5 ** (ages / half_life)
        for entity in range(2):
            used = terms[:, entity, columns]
            system = (used.T * weights) @ used + np.eye(len(columns))
            alone = np.linalg.solve(system, (used.T * weights) @ residuals[:, entity])
            np.testing.assert_allclose(together[place, entity, columns], alone, atol=1e-10)
            others = np.setdiff1d(np.arange(TERMS), columns)
            assert (together[place, entity, others] == 0).all()


def test_what_is_a_half_life_old_counts_half():
    corrections = empty(("level", 10), ridge=1e-9)
    ones = np.ones((1, 1, TERMS))
    corrections = corrections.learn(ones, np.array([[1.0]]), ages=np.zeros(1), passed=0)
    corrections = corrections.learn(ones, np.array([[4.0]]), ages=np.zeros(1), passed=10)
    assert corrections.solve()[0, 0, 0] == pytest.approx((0.5 * 1 + 4) / 1.5)


def test_samples_in_one_call_or_in_two_are_the_same():
    rng = np.random.default_rng(0)
    terms, residuals = rng.normal(size=(6, 2, TERMS)), rng.normal(size=(6, 2))
    ages = np.arange(6, 0, -1.0)
    start = empty(("all", 5), entities=2)
    once = start.learn(terms, residuals, ages=ages, passed=6)
    twice = start.learn(terms[:3], residuals[:3], ages=ages[:3] - 3, passed=3)
    twice = twice.learn(terms[3:], residuals[3:], ages=ages[3:], passed=3)
    np.testing.assert_allclose(once.solve(), twice.solve())


def test_without_evidence_nothing_is_corrected():
    terms = np.ones((4, 2, TERMS))
    residuals = np.stack([np.full(4, np.nan), np.ones(4)], axis=1)
    start = empty(("errors", 5), entities=2)
    found = start.learn(terms, residuals, ages=np.zeros(4), passed=1).solve()
    assert (found[:, 0] == 0).all()
    assert (found[0, 1].sum() > 0.5).all()


def test_ridge_holds_back_until_there_is_evidence():
    few = fed(empty(("errors", 100), ridge=5), 1.0, samples=2).solve()
    many = fed(empty(("errors", 100), ridge=5), 1.0, samples=500).solve()
    assert few[0, 0, 1] < 0.7
    assert 0.97 < many[0, 0, 1] < 1


def test_an_entity_that_joins_has_nothing_to_correct():
    corrections = fed(empty(("errors", 100)), 1.0, samples=50)
    joined = corrections.add_entities(1).solve()
    np.testing.assert_array_equal(joined[:, :1], corrections.solve())
    assert (joined[:, 1] == 0).all()
