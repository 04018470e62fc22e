"""Corrections by lead: how much they move, how fast they fade, and what an earlier state lacks."""

import numpy as np
import pytest

from clearwatt.adaptive.lead_corrections import LeadCorrections, learned_leads
from clearwatt.adaptive.lead_errors import ErrorHistory, LatestErrors
from clearwatt.adaptive.settings import LeadSettings
from clearwatt.clock import Clock

CLOCK = Clock(24, 24)
STEPS = 24 * 40
AT = np.arange(1_000, 1_000 + STEPS)


def lasting_errors(memory):
    """Errors of one entity, each a share of the one before and noise."""
    noise = np.random.default_rng(0).standard_normal((STEPS, 1))
    errors = np.zeros((STEPS, 1))
    for step in range(1, STEPS):
        errors[step] = memory * errors[step - 1] + 0.2 * noise[step]
    return errors


def learn(errors, *, block=24):
    power = np.zeros_like(errors)
    corrections = LeadCorrections.empty(LeadSettings(), clock=CLOCK, entities=1)
    for start in range(0, STEPS, block):
        rows = slice(start, start + block)
        history = ErrorHistory.of(AT, power, errors, since=int(AT[0]), day=CLOCK.day)
        corrections = corrections.learn(
            power[rows], errors[rows], AT[rows], history, now=int(AT[rows][-1]) + 1, passed=block
        )
    return corrections


def after_an_error(corrections, error, leads):
    """The forecast after an error that has lasted for a day."""
    power = np.zeros((len(leads), 1))
    return corrections.coefficients.correct(power, np.array(leads), lasting(error), power + error)


def lasting(error, *, age=0):
    """What is known after a day of equal errors of a forecast of 0."""
    errors = np.array([[[error, error, error, error, 0.0]]])
    measured = np.full((1, 1), error)
    return LatestErrors(errors, measured, measured, np.array([[age]]))


@pytest.mark.parametrize(
    ("horizon", "leads"),
    [
        (24, (1, 2, 3, 4, 6, 8, 12, 16)),
        (96, (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)),
        (6, (1, 2, 3, 4)),
        (1, ()),
    ],
)
def test_short_leads_are_learned_densely(horizon, leads):
    assert learned_leads(horizon) == leads


def test_an_error_moves_the_next_hours_and_fades_to_nothing_at_the_horizon():
    moved = after_an_error(learn(lasting_errors(0.9)), 1.0, [1, 3, 7, 24, 40])
    power = moved.power[:, 0]
    assert 0.75 < power[0] < 1.0
    assert power[0] > power[1] > power[2] > 0
    assert (power[3:] == 0).all()
    spread = moved.spread[:, 0]
    assert spread[0] < spread[1] < spread[2] <= 1
    assert (spread[3:] == 1).all()


def test_errors_that_do_not_last_move_little():
    moved = after_an_error(learn(lasting_errors(0.0)), 1.0, [1, 6])
    assert (np.abs(moved.power) < 0.2).all()
    assert (moved.spread > 0.9).all()


def test_the_spread_is_the_share_of_the_error_that_is_left():
    errors = lasting_errors(0.9)
    coefficients = learn(errors).coefficients
    history = ErrorHistory.of(AT, np.zeros_like(errors), errors, since=int(AT[0]), day=24)
    for lead in (1, 4):
        ahead = np.full(STEPS, lead)
        day_before = history.day_before(AT, AT - lead)
        corrected = coefficients.correct(0 * errors, ahead, history.known_at(AT - lead), day_before)
        left = np.sqrt(np.mean((errors - corrected.power)[100:] ** 2) / np.mean(errors[100:] ** 2))
        assert corrected.spread[-1, 0] == pytest.approx(left, rel=0.15)


def test_without_leads_nothing_is_corrected():
    corrections = LeadCorrections.empty(LeadSettings(), clock=Clock(24, 1), entities=1)
    history = ErrorHistory.of(AT[:0], np.empty((0, 1)), np.empty((0, 1)), since=0, day=24)
    corrections = corrections.learn(
        np.zeros((3, 1)), np.ones((3, 1)), AT[:3], history, now=int(AT[3]), passed=3
    )
    moved = after_an_error(corrections, 1.0, [1, 2])
    assert (moved.power == 0).all()
    assert (moved.spread == 1).all()


def test_an_error_that_is_older_than_the_issue_is_worth_what_it_is_worth_that_long_ahead():
    coefficients = learn(lasting_errors(0.9)).coefficients
    fresh, old, none = (lasting(1.0, age=age) for age in (0, 5, 2**40))
    zero = np.zeros((1, 1))
    ahead = coefficients.correct(zero, np.array([7]), fresh, zero)
    late = coefficients.correct(zero, np.array([2]), old, zero)
    assert late.power == ahead.power
    assert late.spread == ahead.spread
    silent = coefficients.correct(zero, np.array([1]), none, zero)
    assert silent.power == 0
    assert silent.spread == 1


def test_measurements_that_are_missing_at_the_issue_teach_nothing():
    errors = lasting_errors(0.9)
    odd = AT % 2 == 1
    errors[odd] = np.nan
    corrections = learn(errors)
    moments = corrections.regressions.moments[:, 0, 0, 0]
    for lead, moment in zip(corrections.leads, moments, strict=True):
        assert (moment > 0) == (lead % 2 == 0)


def test_the_entities_that_stay_are_corrected_as_before():
    lasting = learn(lasting_errors(0.9))
    three = lasting.add_entities(1).add_entities(1)
    kept = three.select([2, 0])
    assert np.array_equal(
        kept.coefficients.coefficients[:, 1], lasting.coefficients.coefficients[:, 0]
    )
    assert np.array_equal(kept.coefficients.spread[:, 1], lasting.coefficients.spread[:, 0])
    assert not kept.coefficients.coefficients[:, 0].any()
