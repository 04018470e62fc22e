from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from clearwatt.data.dataset import Dataset
from clearwatt.data.features import CALENDAR_COLUMNS, fit_scaling, prepare
from clearwatt.data.schema import Entity, Kind
from clearwatt.errors import DataError

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
STEPS = 192
PAPER_VARIABLES = tuple(f"variable_{number}" for number in range(13))


def grid(*, variables=PAPER_VARIABLES, unmeasured=(), no_weather=()):
    rng = np.random.default_rng(0)
    hourly = pd.date_range("2024-03-30", periods=STEPS // 4 + 1, freq="h", tz="UTC", name="time")
    times = pd.date_range("2024-03-30", periods=STEPS, freq="15min", tz="UTC", name="time")
    weather = {
        zone: pd.DataFrame(
            rng.normal(size=(len(hourly), len(variables))).astype(np.float32),
            index=hourly,
            columns=list(variables),
        )
        for zone in ("north", "south")
    }
    power = pd.DataFrame(
        rng.random((STEPS, 3), dtype=np.float32), index=times, columns=["a", "b", "c"]
    )
    power.loc[power.index[list(unmeasured)], ["a", "b"]] = np.nan
    weather["north"].iloc[list(no_weather), 0] = np.nan
    entities = (
        Entity("a", Kind.GENERATOR, 2.0, "north"),
        Entity("b", Kind.CONSUMER, 4.0, "south"),
        Entity("c", Kind.RESIDUAL, None, "north"),
    )
    return Dataset(name="tiny", power=power, weather=weather, entities=entities)


def test_thirteen_variables_make_the_papers_23_inputs():
    dataset = grid()
    features = prepare(dataset, fit_scaling(dataset, 96))
    assert features.inputs["north"].shape == (STEPS, 23)
    assert features.inputs["north"].dtype == features.targets.dtype == np.float32
    assert features.columns["south"] == (*PAPER_VARIABLES, *CALENDAR_COLUMNS)


@pytest.mark.parametrize("count", [1, 3, 20])
def test_other_numbers_of_variables_work(count):
    dataset = grid(variables=[f"v{number}" for number in range(count)])
    features = prepare(dataset, fit_scaling(dataset))
    assert features.inputs["south"].shape == (STEPS, count + 10)


def test_targets_are_power_over_capacity_with_gaps_kept():
    dataset = grid(unmeasured=[5])
    features = prepare(dataset, fit_scaling(dataset))
    expected = dataset.power["b"].to_numpy() / 4
    np.testing.assert_allclose(features.targets[:, 1], expected)
    assert np.isnan(features.targets).sum(axis=0).tolist() == [1, 1, 0]


def test_samples_leave_out_unmeasured_targets_and_incomplete_inputs():
    dataset = grid(unmeasured=[5], no_weather=range(20, 40))
    features = prepare(dataset, fit_scaling(dataset))
    times, inputs, targets = features.samples("a")
    absent = features.times.difference(times)
    hole = pd.date_range("2024-03-30T19:15Z", "2024-03-31T15:45Z", freq="15min")
    assert absent.equals(hole.union(features.times[[5]]))
    assert np.isfinite(inputs).all()
    assert np.isfinite(targets).all()
    assert len(features.samples("b")[0]) == STEPS - 1
    assert not features.usable["north"].all()


def test_entities_are_chosen_in_the_order_asked_and_only_their_zones_computed():
    dataset = grid()
    features = prepare(dataset, fit_scaling(dataset), entities=["c", "a"])
    assert features.entities == ("c", "a")
    assert set(features.inputs) == {"north"}
    np.testing.assert_allclose(features.targets[:, 1], dataset.power["a"] / 2)


def test_a_slice_gives_the_same_numbers_as_the_whole():
    dataset = grid()
    scaling = fit_scaling(dataset, 96)
    part = Dataset(dataset.name, dataset.power[100:150], dataset.weather, dataset.entities)
    whole, cut = prepare(dataset, scaling), prepare(part, scaling)
    np.testing.assert_array_equal(whole.inputs["north"][100:150], cut.inputs["north"])
    np.testing.assert_array_equal(whole.targets[100:150], cut.targets)


def test_entities_that_are_not_there_are_named():
    dataset = grid()
    scaling = fit_scaling(dataset)
    with pytest.raises(DataError, match="'x'"):
        prepare(dataset, scaling, entities=["a", "x"])
    with pytest.raises(DataError, match="at least one"):
        prepare(dataset, scaling, entities=[])
    with pytest.raises(DataError, match="'x'"):
        prepare(dataset, scaling).samples("x")


@pytest.mark.skipif(not SHARED.is_dir(), reason=f"no real data at {SHARED}")
def test_poland_keeps_nearly_all_samples_though_it_lacks_weather_at_night():
    from clearwatt.data.load import load_dataset

    dataset = load_dataset(SHARED / "pse_poland_15min")
    features = prepare(dataset, fit_scaling(dataset, 10_000))
    assert features.usable["poland"].mean() > 0.999
    assert features.inputs["poland"].shape[1] == 13
