import warnings

import numpy as np
import pytest

from clearwatt.data.simulate.profiles import demand_profiles, school_holidays
from clearwatt.data.simulate.sun import sun_at


def test_every_profile_lies_between_zero_and_one(year):
    for name, shape in year.profiles.items():
        assert shape.min() >= 0, name
        assert 0.95 < shape.max() <= 1.0 or name == "dimmed_lights", name


def test_demandlib_leaves_the_warning_filters_alone(clock):
    before = list(warnings.filters)
    week = clock("2023-05-01", 96)
    demand_profiles(week, sun_at(week))
    assert list(warnings.filters) == before


def test_an_office_keeps_its_local_hours_over_the_clock_change(clock):
    def rise(start):
        week = clock(start, 96)
        office = demand_profiles(week, sun_at(week))["g1"]
        return week.hour[np.argmax(np.diff(office))], week.times.hour[np.argmax(np.diff(office))]

    winter_local, winter_utc = rise("2023-03-20 23:00")
    summer_local, summer_utc = rise("2023-03-27 22:00")
    assert winter_local == pytest.approx(summer_local, abs=0.5)
    assert winter_utc - summer_utc == 1


def test_industry_rests_on_a_public_holiday(year):
    local = year.clock.local
    labour_day = np.asarray(local.strftime("%m-%d") == "05-01")
    day_after = np.asarray(local.strftime("%m-%d") == "05-02")
    assert year.profiles["two_shifts"][labour_day].max() == 0
    assert year.profiles["two_shifts"][day_after].max() == 1
    assert year.profiles["g1"][labour_day].mean() < 0.5 * year.profiles["g1"][day_after].mean()


def test_schools_close_in_summer(year):
    local = year.clock.local
    closed = school_holidays(year.clock)
    assert closed[np.asarray(local.month == 8)].all()
    assert not closed[np.asarray(local.month == 6)].any()
    assert year.profiles["school"][closed].max() == 0


def test_street_lights_follow_the_sun(year):
    lights, local = year.profiles["street_lights"], year.clock.local
    december = lights[np.asarray(local.month == 12)].mean()
    june = lights[np.asarray(local.month == 6)].mean()
    assert december > 1.6 * june
