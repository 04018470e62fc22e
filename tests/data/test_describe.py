import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from clearwatt.data.dataset import Dataset
from clearwatt.data.describe import describe
from clearwatt.data.load import load_dataset
from clearwatt.data.quality import Reason
from clearwatt.data.schema import Entity, Kind
from clearwatt.data.simulate import simulate_grid

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"


def grid(*, days=30, power=None, capacity=10.0):
    times = pd.date_range("2023-01-01", periods=24 * days, freq="h", tz="UTC", name="time")
    rng = np.random.default_rng(0)
    readings = 5 + rng.normal(0, 0.1, len(times)) if power is None else power(times)
    weather = pd.DataFrame(
        {"temperature_2m_c": np.linspace(-5, 25, len(times)), "wind_ms": 3.0},
        index=times,
        dtype=np.float32,
    )
    return Dataset(
        name="small",
        power=pd.DataFrame({"farm": readings}, index=times, dtype=np.float32),
        weather={"here": weather},
        entities=(Entity("farm", Kind.GENERATOR, capacity, "here", {"subtype": "wind"}),),
    )


def summer_only(times):
    return np.where(np.isin(times.month, [6, 7, 8]), 8.0, 2.0) + np.arange(len(times)) % 7 / 100


def test_factors_are_mean_over_capacity_and_mean_over_peak():
    (farm,) = describe(grid()).entities
    readings = grid().power["farm"]
    assert farm.capacity_factor == pytest.approx(readings.mean() / 10, rel=1e-6)
    assert farm.load_factor == pytest.approx(readings.mean() / readings.max(), rel=1e-6)


@pytest.mark.parametrize("days", [365, 365 + 180, 2 * 365])
def test_annual_factors_do_not_depend_on_which_months_come_twice(days):
    description = describe(grid(days=days, power=summer_only))
    assert description.annual
    expected = (3 * 8.03 + 9 * 2.03) / 12 / 10
    assert description.entities[0].capacity_factor == pytest.approx(expected, abs=1e-3)


def test_less_than_a_year_is_measured_as_it_is():
    description = describe(grid(days=200, power=summer_only))
    assert not description.annual


def test_bad_readings_do_not_count_in_the_factors():
    def one_spike(times):
        values = 5 + np.arange(len(times)) % 7 / 100
        return np.where(np.arange(len(times)) == 500, 90.0, values)

    (farm,) = describe(grid(power=one_spike)).entities
    assert farm.peak < 6
    assert farm.quality.counts[Reason.OUT_OF_RANGE] == 1


def test_an_unrated_entity_has_a_load_factor_but_no_capacity_factor():
    (farm,) = describe(grid(capacity=None)).entities
    assert farm.capacity_factor is None
    assert 0.9 < farm.load_factor < 1


def test_an_entity_always_at_zero_is_described():
    (farm,) = describe(grid(power=lambda times: np.zeros(len(times)))).entities
    assert farm.capacity_factor == 0
    assert farm.load_factor is None


def test_gaps_have_their_share_and_the_longest():
    def silent(times):
        return np.where(np.arange(len(times)) // 36 == 10, np.nan, 5 + np.arange(len(times)) % 7)

    description = describe(grid(power=silent))
    assert description.missing_share == pytest.approx(36 / 720)
    assert description.longest_gap.longest_gap == pd.Timedelta(hours=36)
    assert description.longest_gap.entity == "farm"


def test_weather_has_its_range_and_missing_share():
    temperature = describe(grid()).weather[0]
    assert (temperature.variable, temperature.low, temperature.high) == ("temperature_2m_c", -5, 25)
    assert temperature.missing_share == 0


def test_groups_are_kinds_followed_by_their_subtypes():
    description = describe(simulate_grid(entities=12, steps=96 * 20, seed=0))
    kinds = [group.kind for group in description.groups if group.subtype is None]
    assert kinds == [Kind.GENERATOR, Kind.CONSUMER, Kind.RESIDUAL]
    whole = sum(len(group.members) for group in description.groups if group.subtype is None)
    split = sum(len(group.members) for group in description.groups if group.subtype is not None)
    assert whole == split == 12


def test_the_json_is_plain_and_complete():
    dataset = simulate_grid(entities=6, steps=96 * 20, seed=0)
    description = describe(dataset)
    plain = json.loads(json.dumps(description.to_dict(), allow_nan=False))
    assert [item["entity"] for item in plain["entities"]] == list(dataset.names)
    assert len(plain["drifts"]) == len(dataset.drifts)
    assert plain["steps"] == 96 * 20
    assert set(plain["quality"]["readings"]) == {reason.name.lower() for reason in Reason}


@pytest.mark.skipif(not SHARED.is_dir(), reason=f"no real data at {SHARED}")
@pytest.mark.parametrize(
    ("folder", "kinds"),
    [
        ("europe_wind_farm", {Kind.GENERATOR: 30}),
        ("pse_poland_15min", {Kind.GENERATOR: 4, Kind.CONSUMER: 1, Kind.RESIDUAL: 1}),
    ],
)
def test_real_data_are_described_and_mostly_trusted(folder, kinds):
    description = describe(load_dataset(SHARED / folder))
    assert {group.kind: len(group.members) for group in description.groups} == kinds
    assert description.report.flagged_share < 0.005
    json.dumps(description.to_dict(), allow_nan=False)
