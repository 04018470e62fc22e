"""Widths of short leads follow the share of measurements outside, and use nothing of the future."""

import numpy as np
import pytest

from clearwatt.clock import Clock
from clearwatt.intervals import LeadScale, scale_stream

DAYS, DAY = 200, 24
AT = np.arange(DAYS * DAY)
LEVELS = (0.05, 0.5, 0.95)
LIMITS = np.array([[-np.inf], [np.inf]])


def stream(measured, *, width=1.0, delay=3):
    """Quantiles of a stream of forecasts of 0 whose intervals have this width before scaling."""
    quantiles = np.tile(width * np.array([-0.5, 0.0, 0.5]), (len(AT), 1, 1))
    return scale_stream(
        quantiles,
        np.zeros((len(AT), 1)),
        measured,
        AT,
        levels=LEVELS,
        clock=Clock(DAY, delay),
        limits=LIMITS,
    )


def noise(scale=1.0):
    return scale * np.random.default_rng(1).normal(size=(len(AT), 1))


def coverage(quantiles, measured, rows):
    inside = (measured >= quantiles[..., 0]) & (measured <= quantiles[..., -1])
    return inside[rows].mean()


@pytest.mark.parametrize("width", [1.0, 3.29, 8.0])
def test_intervals_of_any_width_come_to_cover_what_they_should(width):
    measured = noise()
    assert coverage(
        stream(measured, width=width), measured, slice(50 * DAY, None)
    ) == pytest.approx(0.9, abs=0.01)


def test_coverage_returns_within_days_of_a_change():
    measured = noise()
    measured[100 * DAY :] *= 2
    found = stream(measured, width=3.29)
    assert coverage(found, measured, slice(100 * DAY, 102 * DAY)) < 0.8
    assert coverage(found, measured, slice(106 * DAY, 133 * DAY)) == pytest.approx(0.9, abs=0.03)


def test_measurements_that_are_not_known_yet_change_nothing():
    measured, changed = noise(), noise()
    row = 50 * DAY
    changed[row - 2 :] = 99.0  # known three steps later: the first at the step after the row
    rows = slice(0, row + 1)
    np.testing.assert_array_equal(stream(changed)[rows], stream(measured)[rows])


def test_missing_measurements_and_intervals_teach_nothing():
    scale = LeadScale.start(2, LEVELS, day=DAY)
    ends = np.array([[[-1.0, 1.0], [np.nan, np.nan]]])
    assert (scale.learn(ends, np.array([[np.nan, 5.0]])).logarithm == 0).all()
    assert (scale.learn(ends, np.array([[5.0, 5.0]])).logarithm > 0).tolist() == [True, False]


def test_entities_come_and_go():
    scale = LeadScale(np.array([0.1, 0.2]), 0.1, DAY)
    assert scale.add_entity().logarithm.tolist() == [0.1, 0.2, 0.0]
    assert scale.remove_entity(0).logarithm.tolist() == [0.2]
