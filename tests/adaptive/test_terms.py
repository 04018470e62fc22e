"""The terms of a correction look back by a day and a week, and make nothing of what is missing."""

import numpy as np

from clearwatt.adaptive import Settings
from clearwatt.adaptive.journal import Entries, Journal
from clearwatt.adaptive.span import Span
from clearwatt.adaptive.terms import TERM_SETS, Terms

CLOCK = Settings().clock(24, None)


def journal(at, measured, slow):
    """Entries of one entity; what the terms do not look at is empty."""
    n = len(at)
    column = np.asarray(measured, dtype=float)[:, None]
    return Journal(
        Entries(
            at=np.asarray(at),
            x=np.zeros((n, 1)),
            seen=np.zeros((n, 1), np.float32),
            slow=np.asarray(slow, dtype=float)[:, None],
            terms=np.zeros((n, 1, 12)),
            experts=np.zeros((n, 1, 3)),
            issued=np.zeros((n, 1)),
            measured=column,
            learned=np.zeros((n, 1), np.bool_),
        )
    )


def test_errors_and_measurements_of_the_same_hour_are_found():
    at = np.arange(200)
    found = Terms(CLOCK).of(
        np.array([[5.0]]), np.array([200]), journal(at, 10.0 * at, 9.0 * at), Span(1)
    )
    missed, away = found[0, 0, -4:-2], found[0, 0, -2:]
    np.testing.assert_allclose(missed, [176, 32])
    np.testing.assert_allclose(away, [1_760 - 5, 320 - 5])
    np.testing.assert_allclose(found[0, 0, :2], [1, 5])


def test_what_is_missing_is_nothing():
    at = np.arange(190, 200)
    found = Terms(CLOCK).of(np.array([[5.0]]), np.array([200]), journal(at, at, at), Span(1))
    np.testing.assert_array_equal(found[0, 0, -4:], 0)


def test_waves_repeat_daily_and_weekly():
    at = np.array([3, 3 + 24, 3 + 168])
    found = Terms(CLOCK).of(np.zeros((3, 1)), at, journal([0], [0.0], [0.0]), Span(1))[:, 0, 2:8]
    np.testing.assert_allclose(found[0], found[2], atol=1e-9)
    np.testing.assert_allclose(found[0, :4], found[1, :4], atol=1e-9)
    assert not np.allclose(found[0, 4:], found[1, 4:])


def test_every_set_is_part_of_all_terms():
    assert Terms(CLOCK).width == 12
    assert sorted(TERM_SETS["all"]) == list(range(12))
    assert all(set(columns) <= set(TERM_SETS["all"]) for columns in TERM_SETS.values())
