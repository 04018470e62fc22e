"""Yesterday, else last week, else climatology, else nothing and why."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.service.plant import DAY, HOUR, NOW, STEP, Plant

from clearwatt.service.forecasting.fallback import Source, UsableReadings, substitute
from clearwatt.service.quality import PlausiblePower
from clearwatt.service.records import Flag, Outcome, Verdict
from clearwatt.service.status import ZoneStatus
from clearwatt.service.store import StoreUnavailableError

TIMES = np.arange(NOW, NOW + 6 * HOUR, STEP)


@pytest.fixture
def plant(tmp_path: Path):
    made = Plant(tmp_path, entities=1)
    yield made
    made.store.close()


def answer(plant: Plant, times=TIMES, timezone: str = "UTC"):
    return substitute(plant.store, plant.entities[0], times, timezone=timezone)


def flag(plant: Plant, times, kind: Flag) -> None:
    verdicts = [Verdict(plant.entities[0].number, int(time), kind, "told so") for time in times]
    plant.store.commit(Outcome(ZoneStatus("north", 1, 1), verdicts=tuple(verdicts)))


def test_yesterday_comes_first(plant):
    plant.readings(0, TIMES - DAY, np.arange(24.0))
    plant.readings(0, TIMES - 7 * DAY, np.full(24, 99.0))
    found = answer(plant)
    assert found.values.tolist() == list(range(24))
    assert set(found.sources) == {Source.YESTERDAY}
    assert found.reason is None


def test_what_yesterday_lacks_comes_from_last_week(plant):
    plant.readings(0, TIMES[:10] - DAY, np.full(10, 1.0))
    plant.readings(0, TIMES - 7 * DAY, np.full(24, 2.0))
    found = answer(plant)
    assert found.values.tolist() == [1.0] * 10 + [2.0] * 14
    assert found.sources.tolist() == [Source.YESTERDAY] * 10 + [Source.LAST_WEEK] * 14


def test_then_the_mean_by_hour_of_the_last_four_weeks(plant):
    recent = np.arange(NOW - 20 * DAY, NOW - 18 * DAY, STEP)
    plant.readings(0, recent, recent // HOUR % 24)
    old = np.arange(NOW - 60 * DAY, NOW - 58 * DAY, STEP)
    plant.readings(0, old, np.full(len(old), 500.0))
    found = answer(plant)
    np.testing.assert_allclose(found.values, TIMES // HOUR % 24)
    assert set(found.sources) == {Source.CLIMATOLOGY}


def test_hours_the_four_weeks_lack_come_from_all_there_is(plant):
    plant.readings(0, TIMES[:12] - 20 * DAY, np.full(12, 1.0))
    plant.readings(0, TIMES - 60 * DAY, np.full(24, 5.0))
    found = answer(plant)
    assert found.values.tolist() == [1.0] * 12 + [5.0] * 12


def test_climatology_reads_the_zones_own_clock(plant):
    # In Berlin six o'clock in January is 05:00 UTC and in June 04:00 UTC.
    january = NOW - 150 * DAY + 5 * HOUR
    plant.readings(0, np.array([january]), [7.0])
    times = np.array([NOW + 4 * HOUR])
    assert answer(plant, times, "Europe/Berlin").values.tolist() == [7.0]
    assert np.isnan(answer(plant, times, "UTC").values).all()


@pytest.mark.parametrize("kind", [Flag.QUARANTINED, Flag.DROPPED, Flag.EXCLUDED])
def test_readings_that_do_not_count_are_not_used(plant, kind):
    plant.readings(0, TIMES - DAY, np.full(24, 9.0))
    flag(plant, TIMES - DAY, kind)
    found = answer(plant)
    assert np.isnan(found.values).all()
    assert set(found.sources) == {Source.NONE}


def test_released_readings_count(plant):
    plant.readings(0, TIMES - DAY, np.full(24, 9.0))
    flag(plant, TIMES - DAY, Flag.RELEASED)
    assert set(answer(plant).values) == {9.0}


def test_readings_that_say_there_is_none_are_skipped(plant):
    plant.readings(0, TIMES - DAY, np.full(24, np.nan))
    plant.readings(0, TIMES - 7 * DAY, np.full(24, 2.0))
    assert set(answer(plant).sources) == {Source.LAST_WEEK}


def test_no_reading_at_all_is_said(plant):
    found = answer(plant)
    assert np.isnan(found.values).all()
    assert found.reason == "e0 has no accepted reading yet"


def test_a_store_that_is_away_is_said_and_not_raised(plant, monkeypatch):
    def away(*args, **options):
        raise StoreUnavailableError("the database does not answer")

    monkeypatch.setattr(plant.store, "readings", away)
    found = answer(plant)
    assert set(found.sources) == {Source.NONE}
    assert "the database does not answer" in found.reason


def test_an_unforeseen_failure_is_logged_and_not_raised(plant, monkeypatch, caplog):
    def broken(*args, **options):
        raise RuntimeError("no such table")

    monkeypatch.setattr(plant.store, "readings", broken)
    found = answer(plant)
    assert "the log says why" in found.reason
    assert "no such table" in caplog.text


def test_sources_have_names_for_answers():
    labels = [source.label for source in Source]
    assert labels == ["model", "yesterday", "last week", "climatology", "none"]


def test_a_reading_that_is_impossible_is_never_served(plant):
    plant.readings(0, TIMES - DAY, np.full(24, 30.0))
    plant.readings(0, TIMES - 7 * DAY, np.full(24, 20.0))
    plant.readings(0, TIMES[5:7] - DAY, np.array([99_999_999.0, -70.0]))
    found = answer(plant)
    assert found.values.tolist() == [30.0] * 5 + [20.0] * 2 + [30.0] * 17
    assert set(found.sources[5:7]) == {Source.LAST_WEEK}


@pytest.mark.parametrize("value", [99_999_999.0, -99_999_999.0])
def test_without_a_capacity_the_usual_power_tells_what_is_impossible(tmp_path, value):
    plant = Plant(tmp_path, entities=1, capacity=None)
    try:
        past = np.arange(NOW - 10 * DAY, NOW, STEP)
        plant.readings(0, past, 20 + past % 7)
        plant.readings(0, TIMES - DAY, np.full(24, value))
        found = answer(plant)
        assert set(found.sources) == {Source.LAST_WEEK}
        assert found.values.max() <= 26
    finally:
        plant.store.close()


def test_readings_without_a_verdict_are_not_used(plant):
    plant.readings(0, TIMES - DAY, np.full(24, 30.0))
    plant.readings(0, TIMES - 7 * DAY, np.full(24, 20.0))
    usable = UsableReadings(PlausiblePower(0.0, 65.0), judged=int(TIMES[9] - DAY))
    found = substitute(plant.store, plant.entities[0], TIMES, usable=lambda: usable)
    assert found.values.tolist() == [30.0] * 10 + [20.0] * 14


def test_means_by_hour_have_no_readings_without_a_verdict(plant):
    recent = np.arange(NOW - 20 * DAY, NOW - 16 * DAY, STEP)
    plant.readings(0, recent, np.where(recent < NOW - 18 * DAY, 10.0, 60.0))
    usable = UsableReadings(PlausiblePower(0.0, 65.0), judged=NOW - 18 * DAY - STEP)
    found = substitute(plant.store, plant.entities[0], TIMES, usable=lambda: usable)
    assert set(found.values) == {10.0}
