"""Persistence repeats the last known day, and goes back a week at most."""

import numpy as np
import pytest

from clearwatt.service.learner.apply.persistence import repeat_last_day

DAY, STEP = 86_400, 6 * 3600


def test_it_repeats_the_same_hour_of_the_day_before():
    known = STEP * np.arange(8)
    readings = np.arange(16, dtype=np.float32).reshape(8, 2)
    assert repeat_last_day(known[4:], known, readings, delay=DAY).tolist() == readings[:4].tolist()


def test_a_missing_reading_is_replaced_by_the_day_before_it_up_to_a_week():
    known = DAY * np.arange(9)
    readings = np.full((9, 1), np.nan, np.float32)
    readings[[0, 8], 0] = 5.0, 7.0
    found = repeat_last_day(known, known, readings, delay=DAY)[:, 0]
    assert np.isnan(found[0]), "its own reading is not known"
    assert found[1:8].tolist() == [5.0] * 7
    assert np.isnan(found[8]), "eight days are too long ago"


def test_times_between_and_before_the_known_ones_have_none():
    known = DAY * np.arange(3, 5)
    readings = np.ones((2, 1), np.float32)
    times = np.array([DAY, 4 * DAY, 4 * DAY + 60, 20 * DAY])
    assert np.isnan(repeat_last_day(times, known, readings, delay=DAY)[:, 0]).tolist() == [
        1,
        0,
        1,
        1,
    ]


@pytest.mark.parametrize(("delay", "days"), [(1, 1), (DAY, 1), (DAY + 1, 2), (7 * DAY, 7)])
def test_it_uses_no_reading_that_was_not_known_when_the_forecast_was_issued(delay, days):
    known = DAY * np.arange(9)
    readings = np.arange(9, dtype=np.float32)[:, None]
    found = repeat_last_day(known[8:], known, readings, delay=delay)
    assert found.tolist() == [[8 - days]]
