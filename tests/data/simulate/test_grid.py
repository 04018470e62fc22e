import hashlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from clearwatt.data.schema import Kind
from clearwatt.data.simulate import simulate_grid
from clearwatt.data.simulate.rules import DRIFT_NAMES
from clearwatt.errors import ConfigurationError

STEPS = 60 * 96
START = "2023-02-01"
REDUCED = {"entities": 12, "steps": STEPS, "seed": 3, "start": START}


def digest(dataset):
    parts = [dataset.power, *dataset.weather.values()]
    content = b"".join(frame.to_numpy().tobytes() for frame in parts)
    return hashlib.sha256(content + repr((dataset.entities, dataset.drifts)).encode()).hexdigest()


@pytest.fixture(scope="module")
def grid():
    return simulate_grid(**REDUCED)


@pytest.fixture(scope="module")
def two_years():
    return simulate_grid(entities=40, seed=1)


def factors(dataset, chosen):
    return {
        e.name: dataset.power[e.name].mean() / e.capacity for e in dataset.entities if chosen(e)
    }


def test_shape_clock_and_types(grid):
    assert grid.power.shape == (STEPS, 12)
    assert (grid.power.dtypes == np.float32).all()
    assert grid.power.index.name == "time"
    assert str(grid.power.index.tz) == "UTC"
    assert grid.power.index[0] == pd.Timestamp(START, tz="UTC")
    (weather,) = grid.weather.values()
    assert weather.shape[1] == 13
    assert (weather.dtypes == np.float32).all()
    assert weather.index[0] <= grid.power.index[0]
    assert weather.index[-1] >= grid.power.index[-1] + pd.Timedelta(hours=1)
    assert np.isfinite(weather.to_numpy()).all()


def test_the_same_seed_gives_the_same_bytes_in_another_process(grid):
    script = (
        "import sys; sys.path.insert(0, sys.argv[1]); import test_grid as t; "
        "print(t.digest(t.simulate_grid(**t.REDUCED)))"
    )
    here = str(Path(__file__).parent)
    environment = os.environ | {"PYTHONHASHSEED": "12345", "PYTHONPATH": os.pathsep.join(sys.path)}
    result = subprocess.run(
        [sys.executable, "-c", script, here],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
    )
    assert result.stdout.strip() == digest(grid)


def test_another_seed_gives_another_grid(grid):
    other = simulate_grid(**REDUCED | {"seed": 4})
    assert not np.array_equal(other.power.to_numpy(), grid.power.to_numpy(), equal_nan=True)
    assert not other.weather["region"].equals(grid.weather["region"])


def test_a_smaller_grid_holds_the_same_series(grid):
    small = simulate_grid(**REDUCED | {"entities": 5})
    pd.testing.assert_frame_equal(small.power, grid.power[small.power.columns], check_exact=True)


@pytest.mark.parametrize("name", [n for n in DRIFT_NAMES if n != "seasons"])
def test_switching_a_drift_off_removes_it_and_only_it(grid, name):
    without = simulate_grid(**REDUCED, drifts={name: 0})
    gone = [drift for drift in grid.drifts if drift.what == name]
    assert gone
    assert without.drifts == tuple(drift for drift in grid.drifts if drift.what != name)
    assert without.entities == grid.entities
    struck = {drift.entity: drift for drift in gone}
    for entity in grid.power:
        same = (grid.power[entity] == without.power[entity]) | grid.power[entity].isna()
        assert (grid.power[entity].isna() == without.power[entity].isna()).all()
        if entity in struck:
            assert same[grid.power.index < struck[entity].start].all()
            assert (~same[grid.power.index >= struck[entity].start]).mean() > 0.05
        else:
            assert same.all(), entity
    weather_same = grid.weather["region"].equals(without.weather["region"])
    assert weather_same == (name != "nwp_change")


def test_the_weather_model_changes_the_forecast_from_its_day_on(grid):
    without = simulate_grid(**REDUCED, drifts={"nwp_change": 0})
    (change,) = [drift for drift in grid.drifts if drift.what == "nwp_change"]
    new, old = grid.weather["region"], without.weather["region"]
    before = new.index < change.start
    assert new[before].equals(old[before])
    shift = (new - old)[~before].mean()
    assert shift["temperature_2m_c"] > 0.5
    assert shift["wind_speed_100m_ms"] > 0.2


def test_a_stronger_drift_has_a_greater_effect(grid):
    none, double = (simulate_grid(**REDUCED, drifts={"meter_rescaled": f}) for f in (0, 2))
    (name, *_) = [drift.entity for drift in grid.drifts if drift.what == "meter_rescaled"]
    after = grid.power.index[-96:]
    means = [data.power.loc[after, name].mean() for data in (double, grid, none)]
    assert means[0] < means[1] < means[2]


def test_without_seasons_there_is_no_annual_cycle():
    flat = simulate_grid(
        entities=3, steps=300 * 96, seed=0, start="2023-01-01", drifts={"seasons": 0}
    )
    assert "seasons" not in {drift.what for drift in flat.drifts}
    monthly = flat.weather["region"]["ghi_wm2"].resample("50D").max().iloc[:6]
    assert monthly.max() < 1.4 * monthly.min()


def test_the_log_lies_within_the_span_and_names_entities(two_years):
    names = {entity.name for entity in two_years.entities}
    first, last = two_years.power.index[[0, -1]]
    assert {drift.what for drift in two_years.drifts} == set(DRIFT_NAMES)
    for drift in two_years.drifts:
        assert first <= drift.start <= last
        assert drift.end is None or drift.start < drift.end <= last
        assert drift.strength > 0
        assert drift.description
        assert drift.entity is None or drift.entity in names
    assert list(two_years.drifts) == sorted(two_years.drifts, key=lambda drift: drift.start)


def test_capacity_and_load_factors(two_years):
    pv = factors(two_years, lambda e: e.extra["subtype"] == "pv")
    wind = factors(two_years, lambda e: e.extra["subtype"] == "wind")
    load = factors(two_years, lambda e: e.kind is not Kind.GENERATOR)
    assert pv and all(0.09 <= value <= 0.13 for value in pv.values()), pv
    assert wind and all(0.18 <= value <= 0.35 for value in wind.values()), wind
    assert all(0.3 <= value <= 0.7 for value in load.values()), load


def test_readings_respect_the_capacity(two_years):
    for entity in two_years.entities:
        share = two_years.power[entity.name] / entity.capacity
        assert 0.55 < share.max() < 1.25, entity
        if entity.kind is not Kind.RESIDUAL:
            assert share.min() >= 0, entity


def test_a_few_readings_are_missing(two_years):
    assert 0.001 < two_years.power.isna().to_numpy().mean() < 0.005


def test_a_start_with_an_offset_is_converted():
    dataset = simulate_grid(2, 96, start="2023-06-01T00:00+02:00")
    assert dataset.power.index[0] == pd.Timestamp("2023-05-31 22:00", tz="UTC")


def test_a_start_within_the_hour_is_covered_by_weather():
    dataset = simulate_grid(2, 100, start="2023-06-01 10:45")
    assert dataset.weather["region"].index[0] == pd.Timestamp("2023-06-01 10:00", tz="UTC")


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"entities": 0}, "entities is 0"),
        ({"entities": 2.5}, "entities is 2.5"),
        ({"steps": 95}, "steps is 95"),
        ({"steps": 10**12}, "at most [0-9]+ quarter-hours fit before the end of 2100"),
        ({"start": "2100-12-31T00:15Z"}, "at most 95 quarter-hours"),
        ({"seed": -1}, "seed is -1"),
        ({"start": "yesterday-ish"}, "yesterday-ish"),
        ({"start": "2300-01-01"}, "2300-01-01"),
        ({"start": "2023-01-01 00:07"}, "quarter-hour"),
        ({"drifts": {"locusts": 1}}, "locusts"),
    ],
)
def test_what_cannot_be_simulated_is_refused(given, named):
    with pytest.raises(ConfigurationError, match=named):
        simulate_grid(**{"entities": 2, "steps": 96} | given)
