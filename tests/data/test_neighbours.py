"""Weather of neighbouring zones: which, as what columns, and what if it is missing."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from clearwatt.data import Dataset, Entity, Kind
from clearwatt.data.features import fit_scaling, prepare
from clearwatt.data.neighbours import with_columns_of, with_neighbours, without_neighbours

HOURS = 700
TIMES = pd.date_range("2024-01-01", periods=HOURS, freq="h", tz="UTC", name="time")


def grid(shares, *, seed=0):
    """A zone per share: so much of its wind is that of the first zone, the rest its own."""
    rng = np.random.default_rng(seed)
    common = rng.random(HOURS)
    winds = {f"z{k}": share * common + (1 - share) * rng.random(HOURS) for k, share in shares}
    return Dataset(
        name="farms",
        power=pd.DataFrame({f"farm {zone}": 10 * wind for zone, wind in winds.items()}, TIMES),
        weather={zone: pd.DataFrame({"wind": wind}, TIMES) for zone, wind in winds.items()},
        entities=tuple(Entity(f"farm {zone}", Kind.GENERATOR, 10.0, zone) for zone in winds),
    )


def changed(dataset, zone, rows, value):
    weather = {name: frame.copy() for name, frame in dataset.weather.items()}
    weather[zone].iloc[rows] = value
    return Dataset(dataset.name, dataset.power, weather, dataset.entities)


def test_the_most_similar_zones_are_the_neighbours_the_nearest_first():
    wide = with_neighbours(grid([(0, 1.0), (1, 0.5), (2, 0.9), (3, 0.0)]), most=2)
    assert list(wide.weather["z0"].columns) == ["wind", "neighbour.z2.wind", "neighbour.z1.wind"]
    np.testing.assert_array_equal(
        wide.weather["z0"]["neighbour.z2.wind"], wide.weather["z2"]["wind"]
    )
    assert list(wide.weather["z3"].columns) == ["wind"]  # its weather has nothing to do with theirs


def test_later_weather_does_not_change_the_choice():
    one = grid([(0, 1.0), (1, 0.5), (2, 0.9)])
    other = changed(one, "z2", slice(HOURS // 7 + 1, None), 0.0)
    assert list(with_neighbours(one, most=1).weather["z0"].columns) == list(
        with_neighbours(other, most=1).weather["z0"].columns
    )


def test_a_zone_has_no_more_columns_than_a_service_takes():
    dataset = grid([(k, 0.9) for k in range(5)])
    weather = {
        zone: pd.DataFrame({f"wind_{k}": frame["wind"] for k in range(30)})
        for zone, frame in dataset.weather.items()
    }
    wide = with_neighbours(Dataset("farms", dataset.power, weather, dataset.entities))
    assert wide.weather["z0"].shape[1] == 90  # with a third neighbour there would be 120


@pytest.mark.parametrize("most", [0, 6])
def test_a_data_set_of_one_zone_stays_as_it_is(most):
    alone = grid([(0, 1.0)])
    assert with_neighbours(alone, most=most) is alone


def test_neighbours_can_be_taken_away_again():
    dataset = grid([(0, 1.0), (1, 0.9)])
    wide = with_neighbours(dataset)
    assert without_neighbours(wide).equals(dataset)
    assert with_neighbours(wide).equals(wide)  # again gives the same


def test_a_data_set_continues_with_the_neighbours_of_an_earlier_one():
    wide = with_neighbours(grid([(0, 1.0), (1, 0.9)]))
    earlier = {"z0": ["wind", "neighbour.z5.wind"], "z1": ["wind"], "z9": ["sun"]}
    found = with_columns_of(wide, earlier).weather
    assert {zone: list(frame.columns) for zone, frame in found.items()} == {
        "z0": ["wind", "neighbour.z5.wind"],
        "z1": ["wind"],
    }
    assert found["z0"]["neighbour.z5.wind"].isna().all()
    assert with_columns_of(wide, {"z0": ["gust"]}).equals(wide)


def test_zones_whose_weather_has_other_steps_are_neighbours_too():
    dataset = grid([(0, 1.0), (1, 0.9), (2, 0.9)])
    weather = dict(dataset.weather)
    weather["z1"] = weather["z1"].resample("15min").interpolate()
    weather["z2"] = weather["z2"].iloc[1::3]
    mixed = with_neighbours(Dataset("farms", dataset.power, weather, dataset.entities))
    assert [frame.shape[1] for frame in mixed.weather.values()] == [3, 3, 3]


def test_names_that_a_service_would_refuse_and_names_twice_are_left_out():
    long = "z" * 95
    dataset = grid([(0, 1.0), (1, 0.9), (2, 0.9)])
    weather = dict(zip((long, "a", "a.b"), dataset.weather.values(), strict=True))
    weather["a"] = weather["a"].rename(columns={"wind": "b.wind"}).assign(wind=weather["a"]["wind"])
    zones = zip(dataset.entities, weather, strict=True)
    entities = tuple(replace(entity, zone=zone) for entity, zone in zones)
    wide = with_neighbours(Dataset("farms", dataset.power, weather, entities))
    names = list(wide.weather[long].columns)
    assert len(names) == len(set(names)) == 3  # neighbour.a.b.wind stands for two
    assert all(len(name) <= 100 for frame in wide.weather.values() for name in frame.columns)


def test_the_own_weather_stands_for_missing_weather_of_a_neighbour():
    dataset = grid([(0, 1.0), (1, 0.9)])
    wide = with_neighbours(changed(dataset, "z1", slice(300, 400), np.nan))
    scaling = fit_scaling(wide, 200)
    found = prepare(wide, scaling)
    assert found.columns["z0"][:2] == ("wind", "neighbour.z1.wind")
    assert found.usable["z0"].all()
    extrema = scaling.weather["z0"]["neighbour.z1.wind"]
    own = wide.weather["z0"]["wind"].to_numpy()[320:380]
    np.testing.assert_allclose(
        found.inputs["z0"][320:380, 1], (own - extrema.low) / extrema.span, rtol=1e-5
    )
    assert not found.usable["z1"][320:380].any()  # a zone needs its own weather


def test_the_middle_of_its_range_stands_for_a_variable_that_the_zone_does_not_have():
    dataset = grid([(0, 1.0), (1, 0.9)])
    weather = dict(with_neighbours(dataset).weather)
    gust = weather["z0"]["neighbour.z1.wind"].where(np.arange(HOURS) < 300)
    weather["z0"] = weather["z0"].assign(**{"neighbour.z1.gust": gust})
    wide = Dataset("farms", dataset.power, weather, dataset.entities)
    inputs = prepare(wide, fit_scaling(wide, 200)).inputs["z0"]
    np.testing.assert_allclose(inputs[310:, 2], 0.5)


def test_a_neighbour_without_weather_in_the_warm_up_stops_nothing():
    dataset = with_neighbours(grid([(0, 1.0), (1, 0.9)]))
    weather = {zone: frame.copy() for zone, frame in dataset.weather.items()}
    weather["z0"].iloc[:250, 1] = np.nan
    late = Dataset("farms", dataset.power, weather, dataset.entities)
    scaling = fit_scaling(late, 200)
    own, neighbour = scaling.weather["z0"].values()
    assert neighbour == own
    assert prepare(late, scaling).usable["z0"].all()
