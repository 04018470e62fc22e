"""The data set in memory: how it is cut, that it stays as it is."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from clearwatt.data import Dataset, Kind
from clearwatt.errors import DataError

TIMES = pd.date_range("2024-01-01", periods=96, freq="15min", tz="UTC", name="time")


def test_facts_about_the_set(two_zones):
    assert two_zones.step == pd.Timedelta(minutes=15)
    assert two_zones.names == ("a", "b")
    assert two_zones.zones == ("north", "south")
    assert two_zones.entity("b").extra == {"subtype": "village"}
    assert two_zones.times.equals(TIMES)


def test_unknown_entity_lists_the_known_ones(two_zones):
    with pytest.raises(DataError, match=r"no entity 'c'.*'a', 'b'"):
        two_zones.entity("c")


def test_float64_and_local_times_become_float32_and_utc(two_zones):
    local = two_zones.power.astype(np.float64).tz_convert("Europe/Berlin")
    again = replace(two_zones, power=local)
    assert again.power.dtypes.unique().tolist() == [np.dtype(np.float32)]
    assert str(again.times.tz) == "UTC"
    assert again.equals(two_zones)


def test_kind_may_be_given_as_text(two_zones):
    first, second = two_zones.entities
    again = replace(two_zones, entities=(replace(first, kind="generator"), second))
    assert again.entities[0].kind is Kind.GENERATOR


def test_readings_cannot_be_overwritten_by_accident(two_zones):
    with pytest.raises(ValueError, match="read-only"):
        two_zones.power.iloc[0, 0] = 1.0
    with pytest.raises(TypeError):
        two_zones.weather["north"] = two_zones.weather["south"]


def test_the_frames_given_stay_the_callers_own(two_zones):
    mine = two_zones.power.copy()
    mine.index.name = "my clock"
    theirs = replace(two_zones, power=mine)
    mine.iloc[0, 0] = 99.0
    assert theirs.power.iloc[0, 0] == 0.0
    assert mine.index.name == "my clock"


class TestSlice:
    def test_is_half_open_and_takes_text_or_timestamps_of_any_zone(self, two_zones):
        part = two_zones.slice("2024-01-01T06:00Z", TIMES[48].tz_convert("Asia/Tokyo"))
        assert part.times[0] == TIMES[24]
        assert part.times[-1] == TIMES[47]

    def test_open_ends(self, two_zones):
        assert two_zones.slice().equals(two_zones)
        assert two_zones.slice(end=TIMES[10]).times[-1] == TIMES[9]
        assert two_zones.slice(start=TIMES[10]).times[0] == TIMES[10]

    def test_keeps_weather_so_that_interpolation_is_unchanged_at_the_edges(self, two_zones):
        gap = two_zones.weather["north"].copy()
        gap.loc["2024-01-01T03:00Z":"2024-01-01T08:00Z"] = np.nan
        whole = replace(two_zones, weather={**two_zones.weather, "north": gap})
        part = whole.slice("2024-01-01T05:00Z", "2024-01-01T07:00Z")

        def interpolated(source: Dataset) -> pd.DataFrame:
            frame = source.weather["north"]
            return frame.reindex(frame.index.union(TIMES)).interpolate("time").loc[part.times]

        pd.testing.assert_frame_equal(
            interpolated(part), interpolated(whole), check_freq=False, check_exact=True
        )

    def test_keeps_only_drifts_that_touch_it(self, two_zones):
        part = two_zones.slice(TIMES[0], TIMES[30])
        assert [drift.what for drift in part.drifts] == ["outage"]
        assert [d.what for d in two_zones.slice(TIMES[60]).drifts] == [
            "meter_rescaled",
            "nwp_change",
        ]

    def test_may_hold_an_entity_without_a_reading(self, two_zones):
        power = two_zones.power.copy()
        power.iloc[:20, 0] = np.nan
        part = replace(two_zones, power=power).slice(end=TIMES[20])
        assert part.power["a"].isna().all()

    @pytest.mark.parametrize(
        ("start", "end", "message"),
        [
            ("2024-01-01T06:00", None, "no time zone"),
            ("yesterday-ish", None, "not a time"),
            ("2024-01-01T06:00Z", "2024-01-01T06:15Z", "holds 1 readings"),
            ("2024-01-01T06:00Z", "2024-01-01T05:00Z", "holds 0 readings"),
            ("2025-01-01T00:00Z", None, "holds 0 readings"),
        ],
    )
    def test_says_what_is_wrong_with_the_bounds(self, two_zones, start, end, message):
        with pytest.raises(DataError, match=message):
            two_zones.slice(start, end)


class TestSelect:
    def test_keeps_order_and_drops_other_zones_and_drifts(self, two_zones):
        only = two_zones.select(["b"])
        assert only.names == ("b",)
        assert only.zones == ("south",)
        assert [drift.what for drift in only.drifts] == ["meter_rescaled", "nwp_change"]
        assert two_zones.select(["b", "a"]).power.columns.tolist() == ["b", "a"]

    def test_takes_a_single_name(self, two_zones):
        assert two_zones.select("a").names == ("a",)

    def test_refuses_none_and_unknown(self, two_zones):
        with pytest.raises(DataError, match="no entity"):
            two_zones.select(["a", "z"])
        with pytest.raises(DataError, match="at least one"):
            two_zones.select([])
