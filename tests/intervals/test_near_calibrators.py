"""Calibrators of the next hours: intervals of each lead cover what they should, and resume."""

import numpy as np
import pytest

from clearwatt.intervals import Calibrator, NearCalibrators

DAY, DAYS = 24, 90
AT = np.arange(DAYS * DAY)
LEVELS = (0.05, 0.95)
LEADS, ERRORS = (1, 6), (0.02, 0.06)
"""Leads, and the deviation of the forecasts of each; a day ahead it is 0.1."""


@pytest.fixture
def streams():
    """Measurements, and forecasts at each lead, of two entities."""
    rng = np.random.default_rng(2)
    measured = 0.5 + 0.2 * np.sin(AT / 40)[:, None] + np.zeros((1, 2))
    noise = rng.normal(size=(3, len(AT), 2))
    near = np.stack([measured + s * own for s, own in zip(ERRORS, noise[:2], strict=True)])
    return measured, near, measured + 0.1 * noise[2]


@pytest.fixture
def near(streams):
    measured, _, day_ahead = streams
    start = slice(20 * DAY)
    calibrator = Calibrator.start(
        day_ahead[start], measured[start], AT[start], day=DAY, low=0.0, high=1.0
    )
    return NearCalibrators.start(calibrator, LEADS, horizon=DAY, levels=LEVELS)


def days(first, last):
    return slice(first * DAY, last * DAY)


def observe(near, streams, rows):
    measured, power, _ = streams
    return near.observe(power[:, rows], measured[rows], AT[rows], levels=LEVELS)


def test_each_lead_covers_what_it_should_with_its_own_width(near, streams):
    observe(near, streams, days(20, 60))
    rows = days(60, 90)
    ends = observe(near, streams, rows)
    measured = streams[0][rows]
    inside = (measured >= ends[..., 0]) & (measured <= ends[..., 1])
    np.testing.assert_allclose(inside.mean(axis=(1, 2)), 0.9, atol=0.02)
    widths = (ends[..., 1] - ends[..., 0]).mean(axis=(1, 2))
    np.testing.assert_allclose(widths, 3.29 * np.array(ERRORS), rtol=0.15)


def test_days_at_once_or_one_by_one_give_the_same(near, streams):
    at_once = NearCalibrators.from_state(*near.state())
    observe(near, streams, days(20, 25))
    for day in range(20, 25):
        observe(at_once, streams, days(day, day + 1))
    rows = days(25, 26)
    wanted, found = (observe(each, streams, rows) for each in (near, at_once))
    np.testing.assert_array_equal(found, wanted)


def test_it_resumes_as_if_it_had_never_stopped(near, streams):
    observe(near, streams, days(20, 25))
    again = NearCalibrators.from_state(*near.state())
    rows = days(25, 30)
    np.testing.assert_array_equal(observe(again, streams, rows), observe(near, streams, rows))
    np.testing.assert_array_equal(again.snapshot.logarithm, near.snapshot.logarithm)


def test_an_entity_that_joins_or_leaves_does_not_change_the_others(near, streams):
    measured, power, day_ahead = streams
    plain = NearCalibrators.from_state(*near.state())
    start = slice(20 * DAY)
    near.add(day_ahead[start, 0], measured[start, 0], AT[start], limits=(0.0, 1.0))
    rows = days(20, 25)
    wanted = observe(plain, streams, rows)
    three = (power[:, rows][..., [0, 1, 0]], measured[rows][:, [0, 1, 0]])
    found = near.observe(*three, AT[rows], levels=LEVELS)
    np.testing.assert_allclose(found[:, :, :2], wanted)
    near.remove(0)
    assert near.limits.shape == (2, 2)
    later = days(25, 27)
    wanted = observe(plain, streams, later)[:, :, 1]
    two = (power[:, later][..., [1, 0]], measured[later][:, [1, 0]])
    np.testing.assert_allclose(near.observe(*two, AT[later], levels=LEVELS)[:, :, 0], wanted)
