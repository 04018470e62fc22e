"""A data set as it would have arrived: what is delivered is the data set, nothing more or less."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from tests.service.running import small_grid

from clearwatt.errors import ConfigurationError
from clearwatt.service.client.deliveries import (
    DAY,
    ISSUE_HOUR,
    DeliveryFaults,
    entities_of,
    readings_between,
    unix_seconds,
    weather_issues,
    zones_of,
)
from clearwatt.service.learner.apply.weather import LatestWeather


@pytest.fixture(scope="module")
def grid():
    return small_grid()


def test_issues_merge_to_the_weather_of_the_data_set(grid):
    knots = {zone: LatestWeather(("wind", "sun")) for zone in grid.zones}
    for issue in weather_issues(grid):
        knots[issue.zone].add(issue)
    for zone, merged in knots.items():
        pd.testing.assert_frame_equal(
            merged.frame(), grid.weather[zone], check_freq=False, check_names=False
        )


def test_issues_come_in_order_and_are_never_about_the_past(grid):
    issues = weather_issues(grid)
    assert [issue.issued_at for issue in issues] == sorted(issue.issued_at for issue in issues)
    for issue in issues:
        assert issue.issued_at % DAY == ISSUE_HOUR * 3600
        assert issue.times[0] >= issue.issued_at
        assert issue.times[-1] <= issue.issued_at // DAY * DAY + 2 * DAY


def test_every_step_has_weather_by_its_own_time(grid):
    """A forecast made day-ahead has a basis: the day is covered by an issue of the day before."""
    issues = [issue for issue in weather_issues(grid) if issue.zone == "north"]
    for time in unix_seconds(grid.times):
        known = [each for each in issues if each.issued_at <= time // DAY * DAY]
        assert any(each.times[0] <= time <= each.times[-1] for each in known), time


def test_readings_are_the_power_step_by_step(grid):
    readings = readings_between(grid, 38, 45)
    assert readings["time"].tolist() == sorted(readings["time"].tolist())
    table = readings["value"].reshape(7, 3)
    np.testing.assert_array_equal(table.astype(np.float32), grid.power.iloc[38:45].to_numpy())
    assert np.isnan(table[2:6, 1]).all()


def test_disorder_changes_the_order_and_repeats_but_loses_nothing(grid):
    readings = readings_between(grid, 0, 30)
    untidy = DeliveryFaults(within=30 * 3600, duplicate_share=0.3, seed=4)
    arriving = untidy.apply(readings, 0)
    assert len(readings) < len(arriving) < 1.6 * len(readings)
    assert (np.diff(arriving["time"]) < 0).any()
    assert {r.tobytes() for r in arriving} == {r.tobytes() for r in readings}
    assert untidy.apply(readings, 0).tobytes() == arriving.tobytes()
    assert untidy.apply(readings, 1).tobytes() != arriving.tobytes()
    assert DeliveryFaults().apply(readings, 0).tobytes() == readings.tobytes()


@pytest.mark.parametrize("given", [{"within": -1}, {"duplicate_share": 1.5}])
def test_disorder_that_makes_no_sense(given):
    with pytest.raises(ConfigurationError, match="give"):
        DeliveryFaults(**given)


def test_registration_says_the_time_zone_and_the_unit_of_the_data_set(grid):
    polish = replace(grid, timezone="Europe/Warsaw", unit="MW")
    assert {zone.timezone for zone in zones_of(polish)} == {"Europe/Warsaw"}
    assert [entity.unit for entity in entities_of(polish)] == ["MW", "MW", "MW"]


def test_registration_says_what_the_data_set_says(grid):
    zones, entities = zones_of(grid), entities_of(grid)
    assert [(zone.id, zone.step, zone.variables) for zone in zones] == [
        ("north", 3600, ("wind", "sun")),
        ("south", 3600, ("wind", "sun")),
    ]
    assert [(e.id, e.zone, e.kind, e.capacity, e.unit) for e in entities] == [
        ("farm", "north", "generator", 60.0, "kW"),
        ("park", "north", "generator", 80.0, "MW"),
        ("town", "south", "residual", 100.0, "kW"),
    ]
