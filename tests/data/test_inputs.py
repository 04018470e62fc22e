import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clearwatt.data.inputs import CALENDAR_COLUMNS, calendar, interpolate_weather
from clearwatt.errors import ConfigurationError, DataError


def hourly(values, *, start="2024-06-01", unit="ns"):
    times = pd.date_range(start, periods=len(values), freq="h", tz="UTC", unit=unit)
    return pd.DataFrame({"wind": np.array(values, dtype=np.float32)}, index=times)


def quarters(frame, *, hours=None):
    start, last = frame.index[0], frame.index[-1]
    end = last if hours is None else start + pd.Timedelta(hours=hours)
    return pd.date_range(start, end, freq="15min")


def test_values_between_two_hours_lie_on_the_line():
    frame = hourly([0, 4, 2])
    result = interpolate_weather(frame, quarters(frame))
    np.testing.assert_allclose(result[:, 0], [0, 1, 2, 3, 4, 3.5, 3, 2.5, 2])


@pytest.mark.parametrize("unit", ["ns", "us", "ms", "s"])
def test_the_clock_may_be_stored_in_any_unit(unit):
    frame = hourly([0, 4], unit=unit)
    assert interpolate_weather(frame, quarters(frame))[:, 0].tolist() == [0, 1, 2, 3, 4]


@given(st.lists(st.floats(-1e3, 1e3, width=32), min_size=2, max_size=30))
@settings(max_examples=50, deadline=None)
def test_the_forecast_is_kept_at_its_own_times_and_never_exceeded(values):
    frame = hourly(values)
    result = interpolate_weather(frame, quarters(frame))[:, 0]
    np.testing.assert_array_equal(result[::4], frame["wind"])
    assert result.min() >= frame["wind"].min()
    assert result.max() <= frame["wind"].max()


@pytest.mark.parametrize(("missing", "bridged"), [(1, True), (6, True), (7, False)])
def test_a_gap_is_bridged_up_to_six_hours(missing, bridged):
    frame = hourly([1.0, *[np.nan] * missing, 1.0])
    result = interpolate_weather(frame, quarters(frame))[:, 0]
    assert np.isfinite(result[[0, -1]]).all()
    assert np.isfinite(result[1:-1]).all() == bridged
    assert np.isnan(result[1:-1]).all() != bridged


def test_the_bound_is_configurable():
    frame = hourly([0, np.nan, 2])
    strict = interpolate_weather(frame, quarters(frame), max_gap=pd.Timedelta(0))
    assert np.isnan(strict[1:-1]).all()
    with pytest.raises(ConfigurationError, match="-1 days"):
        interpolate_weather(frame, quarters(frame), max_gap=pd.Timedelta(-1, "h"))


def test_a_forecast_coarser_than_the_bound_is_still_interpolated():
    times = pd.date_range("2024-06-01", periods=3, freq="12h", tz="UTC")
    frame = pd.DataFrame({"wind": np.array([0, 12, 24], dtype=np.float32)}, index=times)
    result = interpolate_weather(frame, pd.date_range(times[0], times[-1], freq="h"))
    np.testing.assert_allclose(result[:, 0], np.arange(25), rtol=1e-6)


def test_nothing_is_extrapolated():
    frame = hourly([np.nan, 1, 2, np.nan])
    around = pd.date_range("2024-05-31T22:00Z", "2024-06-01T06:00Z", freq="h")
    result = interpolate_weather(frame, around)[:, 0]
    assert around[np.isfinite(result)].tolist() == frame.index[1:3].tolist()


def test_a_variable_without_values_stays_absent():
    frame = hourly([np.nan, np.nan])
    assert np.isnan(interpolate_weather(frame, quarters(frame))).all()


def test_naive_times_are_refused():
    frame = hourly([1, 2])
    with pytest.raises(DataError, match="UTC"):
        interpolate_weather(frame, pd.date_range("2024-06-01", periods=3, freq="h"))


def column(name, times, **options):
    return calendar(times, **options)[:, CALENDAR_COLUMNS.index(name)]


def test_the_calendar_has_ten_named_columns_on_unit_circles():
    times = pd.date_range("2023-12-20", "2025-01-10", freq="15min", tz="UTC")
    waves = calendar(times)
    assert waves.shape == (len(times), 10) == (len(times), len(CALENDAR_COLUMNS))
    np.testing.assert_allclose(waves[:, ::2] ** 2 + waves[:, 1::2] ** 2, 1, atol=1e-6)


def test_noon_is_opposite_midnight_and_thursday_follows_wednesday():
    times = pd.DatetimeIndex(["2024-06-05T00:00Z", "2024-06-05T12:00Z", "2024-06-06T00:00Z"])
    np.testing.assert_allclose(column("hour_cos", times), [1, -1, 1], atol=1e-6)
    angle = np.unwrap(np.arctan2(column("weekday_sin", times), column("weekday_cos", times)))
    np.testing.assert_allclose(np.diff(angle), [0, 2 * np.pi / 7], atol=1e-6)


@pytest.mark.parametrize("year", [2020, 2023, 2024, 2026])  # week 53, plain, leap, week 53
@pytest.mark.parametrize("name", ["week", "day_of_year"])
def test_the_year_closes_without_a_jump(name, year):
    times = pd.date_range(f"{year}-12-20", f"{year + 1}-01-20", freq="D", tz="UTC")
    points = np.column_stack([column(f"{name}_sin", times), column(f"{name}_cos", times)])
    longest = np.linalg.norm(np.diff(points, axis=0), axis=1).max()
    assert longest <= 2 * np.pi / (52 if name == "week" else 365) + 1e-6


def test_a_local_clock_shifts_the_hour_with_daylight_saving():
    noon = pd.DatetimeIndex(["2024-01-15T11:00Z", "2024-07-15T10:00Z"])
    np.testing.assert_allclose(column("hour_cos", noon, timezone="Europe/Berlin"), -1, atol=1e-6)


@pytest.mark.parametrize("name", ["Mars/Base", "", "../etc"])
def test_an_unknown_time_zone_is_named(name):
    with pytest.raises(ConfigurationError, match="Europe/Berlin"):
        calendar(pd.date_range("2024-01-01", periods=2, freq="h", tz="UTC"), timezone=name)
