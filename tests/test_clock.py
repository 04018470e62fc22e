from datetime import timedelta

import numpy as np
import pandas as pd
import pytest

from clearwatt.clock import Clock, is_overdue, steps_per_day, steps_within
from clearwatt.errors import ConfigurationError

DAY = 24
AT = np.array([0, 1, 2, 10, 11, 12, 13])


def test_a_forecast_uses_measurements_up_to_its_cutoff():
    clock = Clock(DAY, delay=5)
    assert clock.cutoff(20) == 15
    assert clock.cutoff(20, lead=3) == 12
    np.testing.assert_array_equal(clock.cutoff(AT, 1), AT - 6)
    assert clock.known_from(clock.cutoff(20)) == 20


@pytest.mark.parametrize(("step", "lead", "count"), [(4, 0, 0), (5, 0, 1), (7, 0, 3), (7, 2, 1)])
def test_the_number_of_known_rows_counts_steps_of_the_clock(step, lead, count):
    assert Clock(DAY, delay=5).count_known(AT, step, lead) == count


def test_the_number_of_known_rows_leaves_gaps_out():
    assert Clock(DAY, delay=5).count_known(AT, 14) == 3
    assert Clock(DAY, delay=1).count_known(AT, 14) == len(AT)


def test_the_first_row_after_a_measurement_counts_steps_of_the_clock():
    clock = Clock(DAY, delay=5)
    assert clock.first_row_after(3) == 8
    assert clock.first_row_after(0, AT) == 3  # step 5 is a gap
    assert clock.first_row_after(3, AT) == len(AT)  # after the last row
    for row in range(3):
        first = clock.first_row_after(row, AT)
        assert clock.count_known(AT, AT[first]) > row
        assert clock.count_known(AT, AT[first - 1]) <= row


@pytest.mark.parametrize(
    ("delay", "lag", "hour", "weekday"),
    [
        (1, 0, DAY, 7 * DAY),
        (2, 1, DAY, 7 * DAY),
        (DAY, 1, DAY, 7 * DAY),
        (DAY + 1, 1, 2 * DAY, 7 * DAY),
        (DAY + 2, 2, 2 * DAY, 7 * DAY),
        (7 * DAY + 1, 7, 8 * DAY, 14 * DAY),
    ],
)
def test_looking_back_reaches_measurements_that_are_known(delay, lag, hour, weekday):
    clock = Clock(DAY, delay)
    assert (clock.lag_days, clock.same_hour, clock.same_weekday) == (lag, hour, weekday)
    assert -hour <= clock.cutoff(0) and -weekday <= clock.cutoff(0)
    # The last step of the day before those in between; with one day less it would not be known.
    assert -lag * DAY - 1 <= clock.cutoff(0)
    assert lag == 0 or (1 - lag) * DAY - 1 > clock.cutoff(0)


@pytest.mark.parametrize("values", [{"day": 0, "delay": 1}, {"day": 24, "delay": 0}])
def test_a_clock_needs_a_day_and_a_delay_of_at_least_one_step(values):
    with pytest.raises(ConfigurationError, match="is 0; it must be a whole number of at least 1"):
        Clock(**values)


def test_durations_become_steps():
    assert steps_per_day(timedelta(minutes=15)) == 96
    assert steps_per_day(pd.Timedelta(hours=48)) == 1
    assert steps_within(pd.Timedelta(hours=24), pd.Timedelta(minutes=15)) == 96
    assert steps_within(pd.Timedelta(minutes=50), pd.Timedelta(minutes=15)) == 4


def test_readings_are_overdue_beyond_their_lateness():
    np.testing.assert_array_equal(
        is_overdue(AT, newest=13, lateness=2), [True, True, True, True, False, False, False]
    )
