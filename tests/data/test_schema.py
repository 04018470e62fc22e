"""The data set in memory: what it refuses, how it is cut, that it stays as it is."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from clearwatt.data import Dataset, Drift, Entity, Kind
from clearwatt.errors import ClearwattError, DataError

TIMES = pd.date_range("2024-01-01", periods=96, freq="15min", tz="UTC", name="time")
HOURS = pd.date_range("2023-12-31", periods=72, freq="h", tz="UTC", name="time")


def two_zones() -> Dataset:
    """Two farms in two zones, one drift each and one for the whole grid."""
    ramp = np.arange(96, dtype=np.float32)
    weather = {
        zone: pd.DataFrame({"wind_ms": np.arange(72.0) + shift}, index=HOURS)
        for shift, zone in enumerate(("north", "south"))
    }
    drifts = [
        Drift("outage", "a", TIMES[8], TIMES[16], 1.0, "a is down"),
        Drift("meter_rescaled", "b", TIMES[40], None, 2.0, "b counts double"),
        Drift("nwp_change", None, TIMES[80], None, 1.0, "new model"),
    ]
    return Dataset(
        name="two",
        power=pd.DataFrame({"a": ramp, "b": -ramp}, index=TIMES),
        weather=weather,
        entities=(
            Entity("a", Kind.GENERATOR, 100.0, "north"),
            Entity("b", Kind.RESIDUAL, None, "south", {"subtype": "village"}),
        ),
        drifts=tuple(drifts),
    )


def test_facts_about_the_set():
    data = two_zones()
    assert data.step == pd.Timedelta(minutes=15)
    assert data.names == ("a", "b")
    assert data.zones == ("north", "south")
    assert data.entity("b").extra == {"subtype": "village"}
    assert data.times.equals(TIMES)


def test_unknown_entity_lists_the_known_ones():
    with pytest.raises(DataError, match=r"no entity 'c'.*a, b"):
        two_zones().entity("c")


def test_float64_and_local_times_become_float32_and_utc():
    data = two_zones()
    local = data.power.astype(np.float64).tz_convert("Europe/Berlin")
    again = replace(data, power=local)
    assert again.power.dtypes.unique().tolist() == [np.dtype(np.float32)]
    assert str(again.times.tz) == "UTC"
    assert again.equals(data)


def test_kind_may_be_given_as_text():
    data = two_zones()
    again = replace(data, entities=(replace(data.entities[0], kind="generator"), data.entities[1]))
    assert again.entities[0].kind is Kind.GENERATOR


def test_readings_cannot_be_overwritten_by_accident():
    data = two_zones()
    with pytest.raises(ValueError, match="read-only"):
        data.power.iloc[0, 0] = 1.0
    with pytest.raises(TypeError):
        data.weather["north"] = data.weather["south"]


def test_the_frames_given_stay_the_callers_own():
    data = two_zones()
    mine = data.power.copy()
    mine.index.name = "my clock"
    theirs = replace(data, power=mine)
    mine.iloc[0, 0] = 99.0
    assert theirs.power.iloc[0, 0] == 0.0
    assert mine.index.name == "my clock"


class TestSlice:
    def test_is_half_open_and_takes_text_or_timestamps_of_any_zone(self):
        part = two_zones().slice("2024-01-01T06:00Z", TIMES[48].tz_convert("Asia/Tokyo"))
        assert part.times[0] == TIMES[24]
        assert part.times[-1] == TIMES[47]

    def test_open_ends(self):
        data = two_zones()
        assert data.slice().equals(data)
        assert data.slice(end=TIMES[10]).times[-1] == TIMES[9]
        assert data.slice(start=TIMES[10]).times[0] == TIMES[10]

    def test_keeps_weather_so_that_interpolation_is_unchanged_at_the_edges(self):
        data = two_zones()
        gap = data.weather["north"].copy()
        gap.loc["2024-01-01T03:00Z":"2024-01-01T08:00Z"] = np.nan
        data = replace(data, weather={**data.weather, "north": gap})
        part = data.slice("2024-01-01T05:00Z", "2024-01-01T07:00Z")

        def interpolated(source: Dataset) -> pd.DataFrame:
            frame = source.weather["north"]
            return frame.reindex(frame.index.union(TIMES)).interpolate("time").loc[part.times]

        pd.testing.assert_frame_equal(
            interpolated(part), interpolated(data), check_freq=False, check_exact=True
        )

    def test_keeps_only_drifts_that_touch_it(self):
        part = two_zones().slice(TIMES[0], TIMES[30])
        assert [drift.what for drift in part.drifts] == ["outage"]
        assert [d.what for d in two_zones().slice(TIMES[60]).drifts] == [
            "meter_rescaled",
            "nwp_change",
        ]

    def test_may_hold_an_entity_without_a_reading(self):
        data = two_zones()
        power = data.power.copy()
        power.iloc[:20, 0] = np.nan
        part = replace(data, power=power).slice(end=TIMES[20])
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
    def test_says_what_is_wrong_with_the_bounds(self, start, end, message):
        with pytest.raises(DataError, match=message):
            two_zones().slice(start, end)


class TestSelect:
    def test_keeps_order_and_drops_other_zones_and_drifts(self):
        data = two_zones()
        only = data.select(["b"])
        assert only.names == ("b",)
        assert only.zones == ("south",)
        assert [drift.what for drift in only.drifts] == ["meter_rescaled", "nwp_change"]
        assert data.select(["b", "a"]).power.columns.tolist() == ["b", "a"]

    def test_takes_a_single_name(self):
        assert two_zones().select("a").names == ("a",)

    def test_refuses_none_and_unknown(self):
        with pytest.raises(DataError, match="no entity"):
            two_zones().select(["a", "z"])
        with pytest.raises(DataError, match="at least one"):
            two_zones().select([])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: {"power": d.power.tz_localize(None)}, r"column 'time', row 1 .*naive.*UTC"),
        (lambda d: {"power": d.power.reset_index(drop=True)}, "not times"),
        (lambda d: {"power": d.power.iloc[[0, 2, 1]]}, "row 3 .*unordered.*sort"),
        (lambda d: {"power": d.power.iloc[[0, 1, 1]]}, "row 3 .*duplicate.*keep one"),
        (lambda d: {"power": d.power.iloc[[0, 1, 2, 4]]}, "row 4 .*not uniform.*insert"),
        (lambda d: {"power": d.power.iloc[:1]}, "empty series"),
        (lambda d: {"power": d.power.replace(7.0, np.inf)}, r"column 'a', row 8 \(.*01:45.*infin"),
        (lambda d: {"power": d.power.astype(str)}, "column 'a', row 1 .*not numbers"),
        (lambda d: {"power": d.power[["b", "a"]]}, "order"),
        (lambda d: {"power": d.power[["a"]]}, r"column 'entity', row 2 \(b\)"),
        (lambda d: {"entities": d.entities[:1]}, "column 'b': no such entity"),
        (lambda d: {"entities": d.entities[:1] * 2}, r"row 2 \(a\): a duplicate"),
        (lambda d: {"weather": {"north": d.weather["north"]}}, r"row 2 \(b\): unknown zone"),
        (lambda d: {"weather": {**d.weather, "a__b": d.weather["north"]}}, "cannot name a zone"),
        (
            lambda d: {"weather": {**d.weather, "north": d.weather["north"].iloc[:30]}},
            r"column 'a', row 22 \(2024-01-01T05:15.*without weather cover",
        ),
        (
            lambda d: {"drifts": (replace(d.drifts[0], entity="zz"),)},
            "drift, column 'entity', row 1",
        ),
        (lambda d: {"drifts": (replace(d.drifts[0], end=TIMES[0]),)}, "column 'end', row 1"),
    ],
)
def test_construction_refuses(change, message):
    data = two_zones()
    with pytest.raises(DataError, match=message):
        replace(data, **change(data))


@pytest.mark.parametrize("capacity", [0.0, -1.0, float("inf"), float("nan")])
def test_capacity_must_be_a_positive_number_or_unknown(capacity):
    data = two_zones()
    first = replace(data.entities[0], capacity=capacity)
    with pytest.raises(ClearwattError, match=r"column 'capacity', row 1 \(a\).*leave it empty"):
        replace(data, entities=(first, data.entities[1]))


def test_weather_may_have_holes_and_power_may_lack_cover_where_it_is_empty():
    data = two_zones()
    power = data.power.copy()
    power.iloc[21:] = np.nan
    weather = {zone: frame.iloc[:30].mask(frame > 5) for zone, frame in data.weather.items()}
    assert replace(data, power=power, weather=weather).power["a"].notna().sum() == 21
