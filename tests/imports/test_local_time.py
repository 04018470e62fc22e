"""Local clocks of the world: what is written is found again, through every change of the clock."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from clearwatt.errors import ConfigurationError
from clearwatt.imports.local_time import calendar_zone, to_utc, zone_of
from clearwatt.imports.time_text import WallTimes

ZONES = (
    "Europe/Warsaw",
    "America/Chicago",
    "Australia/Lord_Howe",
    "America/St_Johns",
    "Asia/Kolkata",
)
CHANGES = ("2024-03-08", "2024-03-29", "2024-04-05", "2024-10-04", "2024-10-25", "2024-11-01")


def written(wall: pd.DatetimeIndex) -> WallTimes:
    empty = np.full(len(wall), "", dtype=np.str_)
    return WallTimes(wall.to_numpy(dtype="datetime64[ns]"), empty, empty)


@settings(max_examples=25, deadline=None)
@given(
    zone=st.sampled_from(ZONES),
    start=st.sampled_from(CHANGES),
    minutes=st.sampled_from([5, 15, 30, 60]),
    way=st.sampled_from(["start", "shown end", "counted end"]),
    meters=st.sampled_from([1, 3, -1]),
)
def test_the_instants_are_found_again(zone, start, minutes, way, meters):
    """A negative number of meters: the newest reading comes first."""
    # Hours do not show a change of the clock by half an hour.
    assume(minutes < 60 or zone != "Australia/Lord_Howe")
    step = pd.Timedelta(minutes=minutes)
    times = pd.date_range(start, periods=round(pd.Timedelta("5D") / step), freq=step, tz="UTC")
    local = times.tz_convert(zone)
    if way == "shown end":
        wall = (times + step).tz_convert(zone).tz_localize(None)
    else:
        wall = local.tz_localize(None) + (step if way == "counted end" else pd.Timedelta(0))
    if meters < 0:
        wall, times = wall[::-1], times[::-1]
    walls = pd.DatetimeIndex(np.tile(wall.to_numpy(), abs(meters)))
    found = to_utc(
        written(walls),
        np.repeat(np.arange(abs(meters)), len(wall)),
        zone=zone_of(zone),
        interval="start" if way == "start" else "end",
        step=step,
        autumn=None,
    )
    assert not (found.skipped | found.once | found.unclear).any()
    expected = np.tile(times.tz_localize(None).to_numpy(), abs(meters))
    np.testing.assert_array_equal(found.times, expected.astype("datetime64[ns]"))


def test_a_gap_within_the_double_hour_is_no_doubt():
    local = pd.date_range("2024-10-26T22:00Z", periods=40, freq="15min").tz_convert("Europe/Berlin")
    local = local.delete([9, 14])
    found = to_utc(
        written(local.tz_localize(None)),
        np.zeros(len(local), dtype=np.int64),
        zone=zone_of("Europe/Berlin"),
        interval="start",
        step=pd.Timedelta(minutes=15),
        autumn=None,
    )
    expected = local.tz_convert("UTC").tz_localize(None).to_numpy(dtype="datetime64[ns]")
    np.testing.assert_array_equal(found.times, expected)


@pytest.mark.parametrize(
    ("name", "hours", "calendar"),
    [("+01:00", 1, "Etc/GMT-1"), ("-0500", -5, "Etc/GMT+5"), ("UTC+5:30", 5.5, "UTC")],
)
def test_fixed_offsets(name, hours, calendar):
    assert zone_of(name).utcoffset(None).total_seconds() == hours * 3600
    assert calendar_zone(name) == calendar


@pytest.mark.parametrize("name", ["+30:00", "+01:75", "-13:00", "UTC+14:30", "+0160"])
def test_offsets_that_no_clock_has(name, tmp_path, refuse_import):
    file = tmp_path / "x.csv"
    file.write_text("start;m [kW]\n2024-01-01 00:00;1.5\n2024-01-01 01:00;1.5\n")
    error = refuse_import(file, f"--timezone={name}")
    assert f"unknown time zone {name!r}" in error
    assert "such as +01:00" in error


def test_names_of_zones():
    assert calendar_zone("Europe/Warsaw") == "Europe/Warsaw"
    assert calendar_zone(None) == calendar_zone("UTC") == "UTC"
    with pytest.raises(ConfigurationError, match="unknown time zone"):
        zone_of("Mars/Olympus")
