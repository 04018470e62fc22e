"""The terms of a correction look back by a day and a week, and make nothing of what is missing."""

import numpy as np

from clearwatt.adaptive import AdaptiveSettings
from clearwatt.adaptive.power_range import PowerRange
from clearwatt.adaptive.recent import LagRows
from clearwatt.adaptive.terms import TERM_SETS, TERMS, lags_of, terms_of

CLOCK = AdaptiveSettings().schedule(24, None).clock
ANY = PowerRange(np.array([-np.inf]), np.array([np.inf]))


def recent(at, measured, slow):
    """Rows of one entity; what the terms do not look at is empty."""
    return LagRows(
        at=np.asarray(at),
        x=np.empty((len(at), 0)),
        slow=np.asarray(slow, dtype=float)[:, None],
        measured=np.asarray(measured, dtype=float)[:, None],
    )


def terms(slow, at, rows, known=None):
    lags = lags_of(np.array(at), rows, ANY, CLOCK, known=known)
    return terms_of(np.array(slow), np.array(at), lags, CLOCK)


def test_errors_and_measurements_of_the_same_hour_are_found():
    at = np.arange(200)
    found = terms([[5.0]], [200], recent(at, 10.0 * at, 9.0 * at))
    errors, lags = found[0, 0, -4:-2], found[0, 0, -2:]
    np.testing.assert_allclose(errors, [176, 32])
    np.testing.assert_allclose(lags, [1_760 - 5, 320 - 5])
    np.testing.assert_allclose(found[0, 0, :2], [1, 5])


def test_a_step_further_ahead_looks_back_to_the_last_known_same_hour():
    at = np.arange(200)
    rows = recent(at, 10.0 * at, 9.0 * at)
    found = lags_of(np.array([223, 224, 250, 400]), rows, ANY, CLOCK, known=199)
    np.testing.assert_allclose(found.persistences[:, 0, 0] / 10, [199, 176, 178, 184])
    np.testing.assert_allclose(found.persistences[:, 0, 1] / 10, [55, 56, 82, 64])


def test_missing_terms_are_0():
    at = np.arange(190, 200)
    found = terms([[5.0]], [200], recent(at, at, at))
    np.testing.assert_array_equal(found[0, 0, -4:], 0)
    nothing = recent(at[:0], at[:0], at[:0])
    np.testing.assert_array_equal(terms([[5.0]], [200], nothing)[0, 0, -4:], 0)


def test_waves_repeat_daily_and_weekly():
    at = [3, 3 + 24, 3 + 168]
    found = terms(np.zeros((3, 1)), at, recent([0], [0.0], [0.0]))[:, 0, 2:8]
    np.testing.assert_allclose(found[0], found[2], atol=1e-9)
    np.testing.assert_allclose(found[0, :4], found[1, :4], atol=1e-9)
    assert not np.allclose(found[0, 4:], found[1, 4:])


def test_every_set_is_part_of_all_terms():
    assert TERMS == 12
    assert sorted(TERM_SETS["all"]) == list(range(12))
    assert all(set(columns) <= set(TERM_SETS["all"]) for columns in TERM_SETS.values())
