"""Each time sees the latest issue that covers it, and nothing stale."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.service.plant import DAY, HOUR, NOW, STEP, Plant

from clearwatt.service.forecasting.coverage import UNISSUED, Coverage, find_inputs
from clearwatt.service.records import WeatherIssue
from clearwatt.service.store import StoreUnavailableError

TIMES = np.arange(NOW, NOW + DAY, STEP)


@pytest.fixture
def plant(tmp_path: Path):
    made = Plant(tmp_path, entities=1)
    yield made
    made.store.close()


def test_the_latest_issue_wins_where_it_reaches(plant):
    long, short = plant.weather(NOW - DAY, seed=1), plant.weather(NOW, hours=6, seed=2)
    found = find_inputs(plant.zone, plant.scaling, [long, short], TIMES)
    early = TIMES <= NOW + 6 * HOUR
    assert set(found.issued[early]) == {NOW}
    assert set(found.issued[~early]) == {NOW - DAY}
    np.testing.assert_array_equal(found.x[early], plant.inputs(short, TIMES[early]))
    np.testing.assert_array_equal(found.x[~early], plant.inputs(long, TIMES[~early]))


def test_the_order_of_arrival_does_not_matter(plant):
    issues = [plant.weather(NOW - h * HOUR, seed=h, hours=12 + h) for h in (0, 3, 9)]
    one = find_inputs(plant.zone, plant.scaling, issues, TIMES)
    other = find_inputs(plant.zone, plant.scaling, issues[::-1], TIMES)
    np.testing.assert_array_equal(one.x, other.x)
    np.testing.assert_array_equal(one.issued, other.issued)


def test_an_issue_with_a_hole_leaves_it_to_the_one_before(plant):
    whole, holed = plant.weather(NOW - DAY, seed=1), plant.weather(NOW, seed=2)
    values = holed.values.copy()
    values[4:16, 0] = np.nan
    holed = WeatherIssue("north", NOW, holed.times, values)
    found = find_inputs(plant.zone, plant.scaling, [whole, holed], TIMES)
    assert found.complete.all()
    assert found.issued[TIMES == NOW + 9 * HOUR] == NOW - DAY


def test_pieces_that_adjoin_are_read_as_one(plant):
    first = plant.weather(NOW - DAY, start=NOW, hours=5)
    second = plant.weather(NOW - HOUR, start=NOW + 6 * HOUR, hours=20)
    found = find_inputs(plant.zone, plant.scaling, [first, second], TIMES)
    assert found.complete.all()


def test_times_no_issue_covers_are_marked(plant):
    found = find_inputs(plant.zone, plant.scaling, [plant.weather(hours=6)], TIMES)
    late = TIMES > NOW + 6 * HOUR
    assert set(found.issued[late]) == {UNISSUED}
    assert not found.complete[late].any()
    assert np.isnan(found.x[late, :2]).all()


def test_without_issues_nothing_is_covered(plant):
    assert not find_inputs(plant.zone, plant.scaling, [], TIMES).complete.any()


def test_a_range_is_read_once_until_the_weather_changes(plant):
    plant.weather(NOW - DAY, start=NOW - DAY, hours=72)
    coverage = Coverage(plant.store)
    before = coverage.inputs(plant.zone, plant.scaling, TIMES)
    assert coverage.inputs(plant.zone, plant.scaling, TIMES) is before
    plant.weather(NOW)
    coverage.forget("north")
    assert set(coverage.inputs(plant.zone, plant.scaling, TIMES).issued) == {NOW}


def test_weather_that_arrives_while_it_is_read_is_not_missed(plant, monkeypatch):
    plant.weather(NOW - DAY, start=NOW - DAY, hours=72)
    coverage, read = Coverage(plant.store), plant.store.weather

    def overtaken(*args, **options):
        issues = read(*args, **options)
        monkeypatch.setattr(plant.store, "weather", read)
        plant.weather(NOW)
        coverage.forget("north")
        return issues

    monkeypatch.setattr(plant.store, "weather", overtaken)
    coverage.inputs(plant.zone, plant.scaling, TIMES)
    assert set(coverage.inputs(plant.zone, plant.scaling, TIMES).issued) == {NOW}


def test_few_ranges_are_kept(plant):
    plant.weather()
    coverage = Coverage(plant.store)
    first = coverage.inputs(plant.zone, plant.scaling, TIMES)
    for shift in range(1, 30):
        coverage.inputs(plant.zone, plant.scaling, TIMES + shift * STEP)
    assert coverage.inputs(plant.zone, plant.scaling, TIMES) is not first


def test_a_store_that_is_away_leaves_inputs_without_weather(plant, monkeypatch):
    def away(*args, **options):
        raise StoreUnavailableError("the database does not answer")

    plant.weather()
    coverage = Coverage(plant.store)
    with monkeypatch.context() as broken:
        broken.setattr(plant.store, "weather", away)
        found = coverage.inputs(plant.zone, plant.scaling, TIMES)
    assert not found.complete.any()
    assert found.trouble == "the database does not answer"
    assert coverage.inputs(plant.zone, plant.scaling, TIMES).complete.all()
