"""What construction refuses, and that the message leads to the fault."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from clearwatt.errors import ClearwattError, DataError

TIMES = pd.date_range("2024-01-01", periods=96, freq="15min", tz="UTC", name="time")


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
            r"column 'a', row 25 \(2024-01-01T06:00.*without weather cover",
        ),
        (
            lambda d: {"drifts": (replace(d.drifts[0], entity="zz"),)},
            "drift, column 'entity', row 1",
        ),
        (lambda d: {"drifts": (replace(d.drifts[0], end=TIMES[0]),)}, "column 'end', row 1"),
        (lambda d: {"drifts": (replace(d.drifts[0], strength=np.inf),)}, "'strength', row 1"),
    ],
)
def test_construction_refuses(two_zones, change, message):
    with pytest.raises(DataError, match=message):
        replace(two_zones, **change(two_zones))


@pytest.mark.parametrize("capacity", [0.0, -1.0, float("inf"), float("nan")])
def test_capacity_must_be_a_positive_number_or_unknown(two_zones, capacity):
    first = replace(two_zones.entities[0], capacity=capacity)
    with pytest.raises(ClearwattError, match=r"column 'capacity', row 1 \(a\).*leave it empty"):
        replace(two_zones, entities=(first, two_zones.entities[1]))


def test_an_hour_of_weather_covers_the_whole_hour(two_zones):
    weather = {zone: frame.iloc[24:48] for zone, frame in two_zones.weather.items()}
    assert weather["north"].index[-1] < TIMES[-1]
    assert replace(two_zones, weather=weather).power.notna().all(axis=None)


def test_weather_may_have_holes_and_power_may_lack_cover_where_it_is_empty(two_zones):
    power = two_zones.power.copy()
    power.iloc[21:] = np.nan
    weather = {zone: frame.iloc[:30].mask(frame > 5) for zone, frame in two_zones.weather.items()}
    assert replace(two_zones, power=power, weather=weather).power["a"].notna().sum() == 21
