import numpy as np


def test_summer_time_shifts_the_local_hour(clock):
    days = clock("2023-03-25 12:00", 2, freq="24h")
    assert days.hour.tolist() == [13.0, 14.0]


def test_both_clock_changes_are_lived_through(clock):
    spring = clock("2023-03-26 00:00", 8).hour
    assert 2.0 not in spring and 3.0 in spring
    autumn = clock("2023-10-28 23:00", 16).hour
    assert np.count_nonzero(autumn == 2.0) == 2


def test_public_holidays_count_as_sundays(clock):
    # Tuesday is Labour Day in Hesse; Corpus Christi is a holiday there, not in every state.
    assert clock("2018-05-01 12:00", 1).weekday.tolist() == [6]
    assert clock("2023-06-08 12:00", 1).weekday.tolist() == [6]
    assert clock("2023-06-07 12:00", 1).weekday.tolist() == [2]


def test_winter_is_coldest_at_the_solstice_and_later_with_a_lag(clock):
    year = clock("2023-01-01", 365, freq="D")
    assert year.times[np.argmax(year.winter())].strftime("%m-%d") == "12-21"
    assert year.times[np.argmax(year.winter(lag_days=30))].strftime("%m-%d") == "01-20"
