import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from clearwatt.data.dataset import Dataset
from clearwatt.data.scaling import Extrema, Scaling, fit_scaling
from clearwatt.data.schema import Entity, Kind
from clearwatt.errors import ConfigurationError, DataError, StateError


def grid(*, steps=96, capacity=10.0, wind=None, power=None):
    hours = steps // 4 + 1
    clock = pd.date_range("2024-06-01", periods=hours, freq="h", tz="UTC", name="time")
    ramp = np.linspace(2, 8, hours) if wind is None else np.asarray(wind)
    weather = pd.DataFrame({"wind": ramp, "snow": 0.0}, index=clock, dtype=np.float32)
    times = pd.date_range("2024-06-01", periods=steps, freq="15min", tz="UTC", name="time")
    readings = np.linspace(-4, 3, steps) if power is None else np.asarray(power)
    return Dataset(
        name="tiny",
        power=pd.DataFrame({"meter": readings}, index=times, dtype=np.float32),
        weather={"here": weather},
        entities=(Entity("meter", Kind.RESIDUAL, capacity, "here"),),
    )


def test_warm_up_weather_spans_zero_to_one_and_later_values_go_beyond():
    dataset = grid()
    scaling = fit_scaling(dataset, 49)
    wind = scaling.inputs("here", dataset.weather["here"], dataset.power.index)[:, 0]
    assert (wind[:49].min(), wind[:49].max()) == (0, 1)
    assert wind[49:].min() > 1


def test_the_calendar_is_that_of_the_data_set_unless_told():
    local = replace(grid(), timezone="Europe/Warsaw")
    assert fit_scaling(grid()).timezone == "UTC"
    assert fit_scaling(local).timezone == "Europe/Warsaw"
    assert fit_scaling(local, timezone="Asia/Tokyo").timezone == "Asia/Tokyo"


@pytest.mark.parametrize("warmup", [48, 49, 50, 51])
def test_nothing_after_the_warm_up_changes_the_scaling(warmup):
    wind, power = np.linspace(2, 8, 25), np.linspace(-4, 3, 96)
    later_wind = np.where(4 * np.arange(25) < warmup, wind, -1e6)
    later_power = np.where(np.arange(96) < warmup, power, 1e6)
    other = grid(capacity=None, wind=later_wind, power=later_power)
    assert fit_scaling(grid(capacity=None), warmup) == fit_scaling(other, warmup)


def test_a_constant_variable_is_zero_in_the_warm_up_and_finite_ever_after():
    dataset = grid()
    scaling = fit_scaling(dataset)
    snowy = dataset.weather["here"].assign(snow=np.float32(3))
    assert (scaling.inputs("here", dataset.weather["here"], dataset.power.index)[:, 1] == 0).all()
    assert np.isfinite(scaling.inputs("here", snowy, dataset.power.index)).all()


@pytest.mark.parametrize("low", [1013.0, -5.0, 0.0])
def test_float_noise_does_not_pass_for_a_range(low):
    assert Extrema(low, low + abs(low) * 1e-8).span >= 1


@pytest.mark.parametrize(("capacity", "size"), [(10.0, 10), (None, 4)])
def test_power_is_scaled_by_capacity_or_the_largest_absolute_reading(capacity, size):
    scaling = fit_scaling(grid(capacity=capacity))
    assert scaling.power["meter"] == size
    raw = np.array([[size], [-size / 2], [np.nan]], dtype=np.float32)
    np.testing.assert_array_equal(scaling.scale_power(raw, ["meter"])[:, 0], [1, -0.5, np.nan])


def test_power_is_restored():
    scaling = fit_scaling(grid(capacity=7.3))
    raw = np.linspace(-20, 20, 99, dtype=np.float32)[:, None]
    there_and_back = scaling.restore_power(scaling.scale_power(raw, ["meter"]), ["meter"])
    np.testing.assert_allclose(there_and_back, raw, rtol=1e-6)


def test_saving_keeps_every_bit(tmp_path):
    dataset = grid(wind=np.random.default_rng(0).normal(size=25) / 3, capacity=None)
    scaling = fit_scaling(dataset, timezone="Europe/Berlin", max_gap=pd.Timedelta("90min"))
    scaling.save(tmp_path / "new" / "scaling.json")
    assert Scaling.load(tmp_path / "new" / "scaling.json") == scaling


def test_saved_variables_keep_their_column_order(tmp_path):
    scaling = fit_scaling(grid())
    scaling.save(tmp_path / "scaling.json")
    assert Scaling.load(tmp_path / "scaling.json").columns("here") == scaling.columns("here")
    assert scaling.columns("here")[:3] == ("wind", "snow", "hour_sin")


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[: len(text) // 2],
        lambda text: "[]",
        lambda text: text.replace('"version": 1', '"version": 99'),
        lambda text: text.replace('"power"', '"potato"'),
        lambda text: json.dumps(json.loads(text) | {"power": {"meter": -1}}),
        lambda text: json.dumps(json.loads(text) | {"weather": {"here": {"wind": [2, 1]}}}),
    ],
)
def test_a_damaged_file_says_so(tmp_path, damage):
    path = tmp_path / "scaling.json"
    fit_scaling(grid()).save(path)
    path.write_text(damage(path.read_text()))
    with pytest.raises(StateError, match="fit and save it again"):
        Scaling.load(path)


def test_a_missing_file_says_so(tmp_path):
    with pytest.raises(StateError, match=r"nothing\.json"):
        Scaling.load(tmp_path / "nothing.json")


@pytest.mark.parametrize("warmup", [-1, 0, 1, 97])
def test_a_warm_up_that_does_not_fit_is_refused(warmup):
    with pytest.raises(DataError, match=f"warm-up of {warmup} steps"):
        fit_scaling(grid(), warmup)


def test_an_entity_without_a_reading_in_the_warm_up_is_named():
    late = np.where(np.arange(96) < 60, np.nan, 1.0)
    with pytest.raises(DataError, match="'meter'"):
        fit_scaling(grid(power=late), 48)
    assert fit_scaling(grid(power=late), 96).power["meter"] == 10


def test_an_unrated_entity_at_zero_throughout_the_warm_up_is_named():
    with pytest.raises(DataError, match=r"'meter'.*capacity"):
        fit_scaling(grid(capacity=None, power=np.zeros(96)))


def test_a_variable_without_values_in_the_warm_up_is_named():
    late = np.where(np.arange(25) < 20, np.nan, 1.0)
    with pytest.raises(DataError, match="'wind'"):
        fit_scaling(grid(wind=late), 48)


def test_other_variables_than_in_the_warm_up_are_named():
    dataset = grid()
    scaling = fit_scaling(dataset)
    other = dataset.weather["here"].rename(columns={"snow": "hail"})
    with pytest.raises(DataError, match="lacks 'snow' and has 'hail'"):
        scaling.inputs("here", other, dataset.power.index)


def test_variables_may_come_in_another_order():
    dataset = grid()
    scaling = fit_scaling(dataset)
    frame = dataset.weather["here"]
    np.testing.assert_array_equal(
        scaling.inputs("here", frame[["snow", "wind"]], dataset.power.index),
        scaling.inputs("here", frame, dataset.power.index),
    )


def test_unknown_zones_entities_and_time_zones_are_named():
    dataset = grid()
    scaling = fit_scaling(dataset)
    with pytest.raises(DataError, match="'there'"):
        scaling.inputs("there", dataset.weather["here"], dataset.power.index)
    with pytest.raises(DataError, match="'stranger'"):
        scaling.restore_power([[1.0]], ["stranger"])
    with pytest.raises(ConfigurationError, match="Mars"):
        fit_scaling(dataset, timezone="Mars")
