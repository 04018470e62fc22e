"""Readings count for the next hours as soon as they arrive, unless they are implausible."""

from typing import Any

import numpy as np
import pytest
from tests.service.journals import STEP, Service, World, digest

from clearwatt.files import digest_of, load_state
from clearwatt.service.forecasting.forecasts import EntityForecast, ForecastService
from clearwatt.service.learner.apply.open_rows import plausible_rows
from clearwatt.service.records import READING

SETTINGS: dict[str, Any] = {
    "forecaster": "adaptive",
    "memory": 400,
    "novelty_days": None,
    "lateness": 12 * STEP,
}
HISTORY, NOW, HOURS = 240, 480, 520


@pytest.fixture(scope="module")
def begun(tmp_path_factory) -> Service:
    """A service whose zone has learned its history."""
    service = Service(
        tmp_path_factory.mktemp("open"),
        World.of(hours=HOURS, base=SETTINGS).with_lasting_errors(),
    )
    service.history(HISTORY)
    service.catch_up()
    return service


@pytest.fixture(scope="module")
def forecaster(begun: Service) -> ForecastService:
    """Forecasts since the warm-up, so it has to follow what is solved later."""
    made, start = ForecastService(begun.store, begun.files), int(begun.world.times[0])
    made.forecast(["e0"], start, start + STEP)
    begun.weather(HISTORY, HOURS + 48)
    begun.send(HISTORY, NOW)
    begun.catch_up()
    return made


def post(service: Service, row: int, values: dict[str, float]) -> None:
    """Send a reading of some entities, as soon as it was measured."""
    readings = np.empty(len(values), READING)
    numbers = {entity.id: entity.number for entity in service.entities}
    readings["entity"] = [numbers[name] for name in values]
    readings["time"], readings["value"] = service.world.times[row], list(values.values())
    service.store.add_readings(readings, at=float(service.world.times[row] + 60))
    service.catch_up()


def post_usual(service: Service, row: int, *names: str) -> None:
    values = dict(zip(("e0", "e1"), map(float, service.world.power[row]), strict=True))
    post(service, row, {name: values[name] for name in names})


def ask(service: Service, forecaster: ForecastService) -> list[EntityForecast]:
    """Forecasts of the two days from now on, after a refresh."""
    latest = service.learning.find_latest()
    assert latest is not None
    forecaster.refresh("north", latest)
    times = service.world.times
    return forecaster.forecast(["e0", "e1"], int(times[NOW]), int(times[NOW]) + 48 * STEP)


def without(service: Service, row: int, column: int) -> bytes | None:
    """What the last readings tell without one of them."""
    rows = service.learning.state.rows
    assert rows is not None
    cell = int(rows.index(service.world.times[[row]])[0]), column
    held, rows.values[cell] = rows.values[cell], np.nan
    found = service.learning.find_latest()
    rows.values[cell] = held
    return found


def test_an_open_reading_moves_the_next_hours_until_the_checks_reject_it(
    begun, forecaster, tmp_path
):
    service, times = begun, begun.world.times
    before = ask(service, forecaster)
    assert before[0].measured_until == times[NOW - 1]

    post(service, NOW, {"e0": 100_000.0})  # a thousand times the capacity
    for old, new in zip(before, ask(service, forecaster), strict=True):
        np.testing.assert_array_equal(new.values, old.values)
        assert new.measured_until == times[NOW - 1]

    value = float(before[0].values[0]) + 30.0
    post(service, NOW, {"e0": value})
    moved = ask(service, forecaster)
    steps = moved[0].values - before[0].values
    assert moved[0].measured_until == times[NOW]
    assert steps[1] > 8
    assert steps[1] > steps[4] > steps[10] >= 0
    assert np.abs(steps[25:]).max() < 0.02 * steps[1]  # tomorrow
    np.testing.assert_array_equal(moved[1].values, before[1].values)  # it has not reported yet
    assert moved[1].measured_until == times[NOW - 1]

    # A refresh leaves no trace, neither in the models nor in what is saved of the zone.
    state, models = service.learning.state, digest(service)
    state.save(tmp_path / "before")
    ask(service, forecaster)
    assert digest(service) == models
    state.save(tmp_path / "after")
    for part in ("zone", "adaptive"):
        first, second = (load_state(tmp_path / name / part) for name in ("before", "after"))
        assert digest_of(first.values, first.tensors) == digest_of(second.values, second.tensors)

    post_usual(service, NOW, "e1")
    assert service.learning.find_latest() != without(service, NOW, 0)
    for row in range(NOW + 1, NOW + 3):
        post_usual(service, row, "e0", "e1")
    assert state.quarantined == {}  # not settled yet, but it looks like a spike by now
    assert service.learning.find_latest() == without(service, NOW, 0)
    for row in range(NOW + 3, NOW + 9):
        post_usual(service, row, "e0", "e1")
    assert list(state.quarantined) == ["e0"]
    final = ask(service, forecaster)
    assert final[0].measured_until == times[NOW + 8]
    ahead = slice(9, 24)
    usual = np.abs(final[0].values[ahead] - before[0].values[ahead])
    assert usual.max() < 12  # of a capacity of 100


def test_the_reporting_delay_is_estimated_unless_it_is_told(begun, forecaster):
    rows = range(NOW + 9, NOW + 15)
    for row in rows:
        post_usual(begun, row, "e0", "e1")
    assert begun.status.reporting_delay == 60
    assert begun.status.entities["e1"].reporting_delay == 60
    begun.command("settings", reporting_delay=7200)
    begun.catch_up()
    assert begun.status.reporting_delay == begun.status.entities["e1"].reporting_delay == 7200


def test_a_meter_whose_clock_is_ahead_is_not_the_newest(begun, forecaster):
    """It would make the last readings of all others a day old."""
    service = begun
    state = service.learning.state
    newest = int(state.rows.watermark)
    row = (newest - int(service.world.times[0])) // STEP
    service.store.add_readings(
        np.array([(service.numbers[1], newest + 20 * STEP, 40.0)], READING), at=float(newest)
    )
    service.catch_up()
    found = plausible_rows(state)
    assert found is not None
    assert found.times.max() == newest == service.world.times[row]


def test_open_readings_count_again_at_once_after_a_restart(begun, forecaster, tmp_path):
    """The first refresh comes before any new journal entry."""
    before = begun.learning.find_latest()
    assert before is not None
    begun.learning.save(tmp_path / "checkpoint")
    begun.reload(tmp_path / "checkpoint")
    assert begun.learning.find_latest() == before
