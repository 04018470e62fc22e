"""A zone with the adaptive forecaster: learned from its journal, served, rolled back, restored."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.service.journals import STEP, Service, World, digest

from clearwatt.adaptive import AdaptiveForecaster
from clearwatt.service.forecasting.forecasts import ForecastService
from clearwatt.service.learner.apply.adaptive_models import AdaptiveModels
from clearwatt.service.learner.apply.learning import inputs_at
from clearwatt.service.records import READING, Flag

ADAPTIVE: dict[str, Any] = {
    "forecaster": "adaptive",
    "memory": 400,
    "novelty_days": 1.0,
    "lateness": 6 * STEP,
}
HISTORY, HOURS = 300, 420


def world(**settings: Any) -> World:
    return World.of(hours=HOURS, base=ADAPTIVE, **settings)


def begun(folder: Path, **settings: Any) -> Service:
    """A service whose zone has learned its history."""
    service = Service(folder, world(**settings))
    service.history(HISTORY)
    return service


def stream(service: Service, *, limit: int = 1000, stop: int = HOURS) -> None:
    """Send the rest, and learn it in groups of journal entries."""
    for start in range(HISTORY, stop, 20):
        service.weather(start, start + 44)
        service.send(start, min(start + 20, stop), late=STEP)
    service.catch_up(limit)


def models(service: Service) -> AdaptiveModels:
    found = service.learning.state.models
    assert isinstance(found, AdaptiveModels)
    return found


@pytest.fixture(scope="module")
def streamed(tmp_path_factory) -> Service:
    """Learned in large groups; not to be changed."""
    service = begun(tmp_path_factory.mktemp("streamed"))
    stream(service)
    return service


def test_live_forecasts_are_those_of_the_forecaster_alone(streamed):
    """The service adds quality checks and a journal; forecasts and errors stay the same."""
    state, zone = streamed.learning.state, streamed.world
    size = np.array([state.power_size(name) for name in state.columns])
    times = zone.times[:HOURS]
    x = inputs_at(begun_inputs(streamed), times)
    y, at = zone.power / size, times // STEP
    start = HISTORY + 1 - 24  # what was known when the first row after the history was forecast
    alone = AdaptiveForecaster.fit(
        x[:start],
        y[:start],
        at[:start],
        day=24,
        settings=state.settings.adaptive(),
        names=state.columns,
    )
    expected = alone.live(x[start:], y[start:], at[start:]) * size
    live = state.live
    rows = np.isin(times[start:], live.times)
    assert rows.sum() > 80
    np.testing.assert_allclose(
        live.forecasts[np.isin(live.times, times)], expected[rows], rtol=2e-5
    )


def begun_inputs(service: Service) -> Any:
    """The state of a zone with all weather, before any was dropped."""
    state = service.learning.state
    for issue in service.store.weather("north", start=0, end=2**40):
        state.weather.add(issue)
    return state


def test_grouping_of_entries_changes_nothing(streamed, tmp_path):
    other = begun(tmp_path)
    stream(other, limit=1)
    assert digest(other) == digest(streamed)
    assert other.status == streamed.status
    assert other.status.reporting_delay > 20 * STEP  # known after some of the deliveries only
    assert other.store.deployed("north") == streamed.store.deployed("north")
    events = [
        [(event.key, event.message) for event in each.store.events(limit=1000)]
        for each in (other, streamed)
    ]
    assert events[0] == events[1]


def test_a_restored_zone_goes_on_as_if_never_stopped(streamed, tmp_path):
    service = begun(tmp_path)
    stream(service, stop=350)
    service.learning.save(tmp_path / "checkpoint")
    service.reload(tmp_path / "checkpoint")
    for start in range(360, HOURS, 20):
        service.weather(start, start + 44)
    for start in range(350, HOURS, 20):
        service.send(start, min(start + 20, HOURS))
    service.catch_up()
    twin = streamed.learning.state.live
    own = service.learning.state.live
    shared = np.intersect1d(own.times, twin.times)
    assert len(shared) > 80
    np.testing.assert_array_equal(
        own.forecasts[np.isin(own.times, shared)], twin.forecasts[np.isin(twin.times, shared)]
    )


def test_errors_by_lead_are_those_of_the_live_forecasts_a_day_ahead_and_outlive_a_restart(
    streamed, tmp_path
):
    leads = {each.lead: each for each in streamed.status.entity("e0").leads}
    assert list(leads) == [3600 * hours for hours in (1, 3, 6, 12, 24)]
    live = streamed.learning.state.live
    midnight = live.times[-1] // 86_400 * 86_400
    rows = live.times < midnight
    errors = (live.forecasts - live.readings)[rows, 0].astype(float)
    day_ahead = leads[86_400]
    known = errors[np.isfinite(errors)][-day_ahead.n :]
    assert day_ahead.n >= 24
    assert day_ahead.rmse == pytest.approx(np.sqrt((known**2).mean()), rel=1e-3)
    assert all(each.coverage is not None and each.rmse is not None for each in leads.values())
    streamed.learning.save(tmp_path / "checkpoint")
    again = type(streamed.learning.state).load(
        tmp_path / "checkpoint", streamed.learning.state.zone
    )
    assert again.leads.quality_of(0) == streamed.status.entity("e0").leads


def test_updates_and_shifts_of_trust_are_explained(streamed):
    events = streamed.store.events(limit=1000)
    updates = [event for event in events if event.kind == "update"]
    assert updates and all("kW" in event.message for event in updates)
    assert all("T" in event.message.split("since ")[1][:20] for event in updates)
    versions = streamed.store.versions(zone="north")
    assert {version.component for version in versions} == {"predictor"}
    status = streamed.status.entity("e0")
    assert status.predictor == f"predictor:e0:{status.component.updates}"
    assert status.component.updates == sum(event.entity == "e0" for event in updates)
    assert status.encoder is None and status.judged > 80


def test_web_processes_forecast_what_the_learner_would(streamed):
    start, end = HOURS, HOURS + 12
    times = streamed.world.times
    state, forecaster = streamed.learning.state, models(streamed).forecaster
    first = forecaster.state.known + 1 - int(times[0]) // STEP
    x = inputs_at(state, times[first:end])
    expected = forecaster.deployed.forecast(x, times[first:end] // STEP).power[start - first :]
    forecasts = ForecastService(streamed.store, streamed.files)
    try:
        both = forecasts.forecast(
            ["e1", "e0"], int(times[start]), int(times[end]), levels=(0.05, 0.25, 0.75, 0.95)
        )
        (alone,) = forecasts.forecast(["e1"], int(times[start + 5]), int(times[end]))
    finally:
        forecasts.close()
    for answer, column in zip(both, (1, 0), strict=True):
        size = state.power_size(answer.entity)
        _, low, high, _ = answer.quantiles
        agreeing = np.clip(expected[:, column] * size, low, high)
        np.testing.assert_allclose(answer.values, agreeing, rtol=1e-5)
        assert np.abs(answer.values - expected[:, column] * size).max() < 0.1 * size
        assert answer.predictor == state.deployed[f"predictor:{answer.entity}"]
        assert answer.encoder is None and answer.quantiles is not None
        assert (np.diff(answer.quantiles, axis=0) >= 0).all()
    # A range that begins later sees the same weather before it.
    np.testing.assert_allclose(alone.values, both[0].values[5:], rtol=1e-6)


def test_a_late_a_corrected_and_an_excluded_reading_change_what_is_held(tmp_path):
    service = begun(tmp_path)
    stream(service, stop=380)
    forecaster, times = models(service).forecaster, service.world.times

    def measured(row: int) -> float:
        recent = forecaster.state.recent
        (value,) = recent.measured[recent.at == times[row] // STEP, 0]
        return float(forecaster.state.power.undo(np.array([[value, 0.0]]))[0, 0]) * 100.0

    before = measured(330)
    correction = np.array([(service.numbers[0], times[330], before + 7.0)], READING)
    service.store.add_readings(correction, at=0.0)
    service.catch_up()
    assert measured(330) == pytest.approx(before + 7.0, rel=1e-3)
    service.command("exclude", "e0", start=int(times[330]), end=int(times[332]))
    service.catch_up()
    assert np.isnan(measured(330)) and np.isnan(measured(331)) and np.isfinite(measured(332))
    flags = service.store.readings(
        service.numbers[0], start=int(times[330]), end=int(times[332])
    ).flags
    assert set(flags.tolist()) == {int(Flag.EXCLUDED)}


def test_a_version_waits_for_approval_is_activated_and_undone(tmp_path):
    service = begun(tmp_path)
    service.command("approval", "e0", required=True)
    stream(service)
    status = service.status.entity("e0")
    assert status.predictor == "predictor:e0:0" and status.candidate is not None
    assert status.state == "awaiting approval"
    assert service.status.entity("e1").predictor != "predictor:e1:0"
    service.command("activate", "e0", version=status.candidate)
    service.catch_up()
    assert service.status.entity("e0").predictor == status.candidate
    assert service.status.entity("e0").candidate is None
    version = models(service).forecaster.versions[0]
    assert f"predictor:e0:{version.number}" == status.candidate
    service.command("activate", "e0", version="predictor:e0:0")
    service.catch_up()
    assert models(service).forecaster.versions[0].number == 0
    assert service.status.entity("e0").predictor == "predictor:e0:0"


def test_a_waiting_version_can_be_rejected(tmp_path):
    service = begun(tmp_path, approval=True)
    stream(service)
    waiting = service.status.entity("e0").candidate
    assert waiting is not None
    service.command("reject", "e0", version=waiting)
    service.catch_up()
    assert service.status.entity("e0").candidate is None
    stored = service.store.version(waiting)
    assert stored is not None and stored.status == "refused"


def test_an_entity_joins_and_is_forecast(tmp_path):
    service = Service(tmp_path, world(approval=True))
    service.store.add_weather(service.world.issue(0, HOURS + 24), at=0.0)
    first, second = service.numbers
    readings = service.world.readings(0, HISTORY, service.numbers)
    service.store.add_readings(readings[readings["entity"] == first], at=0.0)
    service.command("warmup", "e0")
    service.catch_up()
    service.store.add_readings(readings[readings["entity"] == second], at=0.0)
    service.command("warmup", "e1")
    service.catch_up()
    assert service.learning.state.columns == ["e0", "e1"]
    assert models(service).forecaster.names == ("e0", "e1")
    assert service.status.entity("e1").component.approval, "the setting holds for who joins, too"
    for start in range(HISTORY, HOURS, 20):
        service.send(start, start + 20)
    service.catch_up()
    assert service.status.entity("e1").judged > 80
    assert service.status.entity("e1").live.rmse_week is not None


def test_what_the_forecaster_cannot_do_is_refused_in_words(tmp_path):
    service = begun(tmp_path)
    service.catch_up()
    service.command("settings", forecaster="clear")
    service.command("settings", novelty_capacity=50)
    service.command("settings", novelty_days=2.0)
    service.catch_up()
    refused = [e.message for e in service.store.events(limit=50) if e.kind == "command refused"]
    assert len(refused) == 2
    assert any("forecaster cannot change once the zone has learned" in each for each in refused)
    assert any("novelty_capacity is no setting of the forecaster" in each for each in refused)
    assert models(service).forecaster.settings.novelty.capacity == 2.0
