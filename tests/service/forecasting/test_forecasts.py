"""Forecasts are the instance's own, say what they were made from, and are always given."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import numpy as np
import pytest
from tests.service.journals import Service, World
from tests.service.plant import DAY, HOUR, NOW, SIZE, STEP, Plant
from tests.service.processes import until

from clearwatt.errors import DataError
from clearwatt.service.forecasting.deployments import RECHECK, RETRY
from clearwatt.service.forecasting.fallback import Source
from clearwatt.service.forecasting.forecasts import ForecastService
from clearwatt.service.learner.apply.weather import instants
from clearwatt.service.records import Flag, Outcome, Verdict
from clearwatt.service.registry import UnknownIdError
from clearwatt.service.store import StoreUnavailableError
from clearwatt.service.views.gauges import StatusGauges

TIMES = np.arange(NOW, NOW + DAY, STEP)


@pytest.fixture
def plant(tmp_path: Path):
    made = Plant(tmp_path)
    yield made
    made.store.close()


@pytest.fixture
def forecaster(plant: Plant):
    made = ForecastService(plant.store, plant.files, clock=lambda: NOW + 7.5)
    yield made
    made.close()


def ask(forecaster: ForecastService, *entities: str, start: int = NOW, end: int = NOW + DAY):
    return forecaster.forecast(entities or ("e0", "e1", "e2"), start, end)


@pytest.mark.parametrize("synchronous", [False, True])
def test_forecasts_are_the_instances_own(tmp_path, synchronous):
    plant = Plant(tmp_path, synchronous=synchronous)
    plant.deploy()
    issue = plant.weather()
    forecaster = ForecastService(plant.store, plant.files)
    expected = SIZE * plant.instance.predict(plant.inputs(issue, TIMES))
    for column, forecast in enumerate(ask(forecaster)):
        np.testing.assert_array_equal(forecast.times, TIMES)
        np.testing.assert_array_equal(forecast.values, expected[:, column].astype(np.float32))
        assert set(forecast.sources) == {Source.MODEL}
        assert forecast.missing == ()
    forecaster.close()


def test_one_entity_alone_gets_what_it_gets_among_others(plant, forecaster):
    plant.deploy()
    plant.weather()
    together = ask(forecaster)
    for entity, forecast in zip(("e0", "e1", "e2"), together, strict=True):
        (alone,) = ask(forecaster, entity)
        np.testing.assert_array_equal(alone.values, forecast.values)


def test_a_forecast_names_its_versions_weather_and_time(plant, forecaster):
    plant.deploy()
    plant.weather(NOW - HOUR, hours=12)
    plant.weather(NOW - 6 * HOUR, hours=48)
    (forecast,) = ask(forecaster, "e1")
    assert (forecast.encoder, forecast.predictor) == ("autoencoder:north:0", "predictor:e1:0")
    assert forecast.weather == (NOW - 6 * HOUR, NOW - HOUR)
    assert forecast.issued_at == NOW + 7.5
    assert forecast.unit == "kW"
    assert (forecast.times[0], forecast.sources[0]) == (NOW, Source.MODEL)


def test_the_order_asked_for_is_kept_and_repeats_are_allowed(plant, forecaster):
    plant.deploy()
    plant.weather()
    assert [f.entity for f in ask(forecaster, "e2", "e0", "e2")] == ["e2", "e0", "e2"]


def test_only_steps_of_the_zones_clock_are_forecast(plant, forecaster):
    plant.deploy()
    plant.weather()
    (forecast,) = ask(forecaster, "e0", start=NOW + 1, end=NOW + 2 * STEP + 1)
    assert forecast.times.tolist() == [NOW + STEP, NOW + 2 * STEP]
    with pytest.raises(DataError, match="no step of 900 s"):
        ask(forecaster, "e0", start=NOW + 1, end=NOW + STEP)


def test_an_unknown_entity_is_named(forecaster):
    with pytest.raises(UnknownIdError, match="'stranger'"):
        ask(forecaster, "stranger")


def test_new_weather_is_used_once_the_cache_is_cleared(plant, forecaster):
    plant.deploy()
    plant.weather(NOW - DAY, start=NOW - DAY, hours=72)
    before = ask(forecaster)
    issue = plant.weather(NOW, seed=1)
    forecaster.forget_weather("north")
    after = ask(forecaster)
    expected = SIZE * plant.instance.predict(plant.inputs(issue, TIMES))
    np.testing.assert_array_equal(after[0].values, expected[:, 0].astype(np.float32))
    assert not np.array_equal(before[0].values, after[0].values)


def test_a_committed_update_is_swapped_in_at_reload(plant, forecaster):
    plant.deploy()
    issue = plant.weather()
    before = ask(forecaster)
    plant.change(1, 0.5)
    plant.deploy("predictor:e1")
    np.testing.assert_array_equal(ask(forecaster, "e1")[0].values, before[1].values)
    forecaster.reload("north")
    after = ask(forecaster)
    expected = SIZE * plant.instance.predict(plant.inputs(issue, TIMES))
    np.testing.assert_array_equal(after[1].values, expected[:, 1].astype(np.float32))
    assert after[1].predictor == "predictor:e1:1"
    np.testing.assert_array_equal(after[0].values, before[0].values)
    assert after[0].predictor == "predictor:e0:0"


def test_what_did_not_change_is_neither_read_nor_copied_again(plant, forecaster):
    plant.deploy()
    before = forecaster.deployed("north")
    plant.change(0, 0.5)
    plant.deploy("predictor:e0")
    for version in ("autoencoder:north:0", "predictor:e1:0", "predictor:e2:0"):
        plant.damage(version)
    forecaster.reload("north")
    after = forecaster.deployed("north")
    assert after.forecasts.blocks[0].encoders is before.forecasts.blocks[0].encoders
    assert after.versions("e0").predictor == "predictor:e0:1"
    assert after.versions("e2").predictor == "predictor:e2:0"


def test_without_weather_yesterday_answers_and_the_gap_is_named(plant, forecaster):
    plant.deploy()
    plant.weather(hours=6)
    plant.readings(0, TIMES - DAY, np.arange(len(TIMES)) / 2)
    (forecast,) = ask(forecaster, "e0")
    covered = TIMES <= NOW + 6 * HOUR
    assert set(forecast.sources[covered]) == {Source.MODEL}
    assert set(forecast.sources[~covered]) == {Source.YESTERDAY}
    np.testing.assert_array_equal(forecast.values[~covered], np.arange(len(TIMES))[~covered] / 2)
    (missing,) = forecast.missing
    assert (missing.cause, missing.start) == ("weather", NOW + 6 * HOUR + STEP)
    assert "no weather for zone north from 2024-06-01T06:15:00Z" in missing.reason


def test_a_variable_that_is_missing_is_named(plant, forecaster):
    plant.deploy()
    issue = plant.weather()
    values = issue.values.copy()
    values[:, 1] = np.nan
    plant.store.add_weather(
        type(issue)("north", issue.issued_at, issue.times, values), at=float(NOW)
    )
    forecaster.forget_weather("north")
    (forecast,) = ask(forecaster, "e0")
    assert "no sun for zone north" in forecast.missing[0].reason


def test_without_a_model_a_fallback_answers(plant, forecaster):
    plant.weather()
    plant.readings(0, TIMES - DAY, np.full(len(TIMES), 3.0))
    (forecast,) = ask(forecaster, "e0")
    assert set(forecast.values) == {3.0}
    assert (forecast.encoder, forecast.predictor, forecast.weather) == (None, None, None)
    (missing,) = forecast.missing
    assert missing.cause == "model"
    assert "e0 has no model yet" in missing.reason


def test_without_anything_the_answer_says_so(plant, forecaster):
    (forecast,) = ask(forecaster, "e0")
    assert np.isnan(forecast.values).all()
    assert set(forecast.sources) == {Source.NONE}
    assert [missing.cause for missing in forecast.missing] == ["model", "readings"]


@pytest.mark.parametrize("factor", [float("nan"), 1e3])
def test_absurd_values_are_replaced_and_reported(plant, forecaster, factor):
    plant.change(2, factor)
    plant.deploy()
    plant.weather()
    plant.readings(2, TIMES - DAY, np.full(len(TIMES), 3.0))
    sound, nonsense = ask(forecaster, "e0", "e2")
    assert set(sound.sources) == {Source.MODEL}
    replaced = nonsense.sources == Source.YESTERDAY
    assert replaced.any()
    assert set(nonsense.values[replaced]) == {3.0}
    assert np.abs(nonsense.values).max() <= 3 * SIZE
    assert [missing.cause for missing in nonsense.missing] == ["nonsense"]
    assert "predictor:e2:0" in nonsense.missing[0].reason


def test_many_fallbacks_leave_one_event(plant, forecaster):
    plant.deploy()
    for _ in range(3):
        ask(forecaster)
    forecaster.close()
    (event,) = [
        e for e in plant.store.events(kinds=["fallback"]) if e.details["cause"] == "weather"
    ]
    assert event.zone == "north"
    assert "no weather" in event.message


def test_a_damaged_version_gives_way_to_the_one_before(plant, forecaster):
    plant.deploy()
    issue = plant.weather()
    expected = SIZE * plant.instance.predict(plant.inputs(issue, TIMES))[:, 1]
    plant.change(1, 0.5)
    plant.deploy("predictor:e1")
    plant.damage("predictor:e1:1")
    (forecast,) = ask(forecaster, "e1")
    assert forecast.predictor == "predictor:e1:0"
    np.testing.assert_array_equal(forecast.values, expected.astype(np.float32))
    assert plant.store.version("predictor:e1:1").status == "damaged"
    (event,) = plant.store.events(kinds=["damaged"])
    assert "predictor:e1:1" in event.message
    assert event.details["used"] == "predictor:e1:0"


def test_a_damaged_encoder_is_replaced_for_every_entity(plant, forecaster):
    plant.deploy()
    plant.weather()
    plant.deploy("autoencoder:north")
    plant.damage("autoencoder:north:1")
    assert {forecast.encoder for forecast in ask(forecaster)} == {"autoencoder:north:0"}
    assert len(plant.store.events(kinds=["damaged"])) == 1


def test_damage_without_an_earlier_version_costs_only_that_entity(plant, forecaster):
    plant.deploy()
    plant.weather()
    plant.damage("predictor:e1:0")
    sound, damaged, _ = ask(forecaster)
    assert set(sound.sources) == {Source.MODEL}
    assert damaged.predictor is None
    assert "predictor:e1:0 is damaged" in damaged.missing[0].reason


def test_vintages_record_the_answers(plant, forecaster):
    plant.deploy()
    plant.weather()
    given = ask(forecaster)
    ask(forecaster)
    forecaster.close()
    for forecast in given:
        (vintage,) = plant.store.vintages(forecast.entity, start=NOW, end=NOW + DAY)
        np.testing.assert_array_equal(vintage.values, forecast.values)
        np.testing.assert_array_equal(vintage.sources, forecast.sources)
        assert vintage.predictor == forecast.predictor
        assert vintage.weather_issued_at == NOW


def test_forecasts_never_mix_generations_while_models_are_swapped(plant, forecaster):
    plant.deploy()
    issue = plant.weather()
    said = {"predictor:e0:0": scaled_forecast(plant, issue)}
    stop, wrong, seen = threading.Event(), [], set()

    def keep_asking() -> None:
        while not stop.is_set():
            (forecast,) = ask(forecaster, "e0")
            seen.add(forecast.predictor)
            if not np.array_equal(forecast.values, said[forecast.predictor]):
                wrong.append(forecast.predictor)

    asking = [threading.Thread(target=keep_asking) for _ in range(3)]
    for thread in asking:
        thread.start()
    for number in range(1, 8):
        plant.change(0, 0.9)
        said[f"predictor:e0:{number}"] = scaled_forecast(plant, issue)
        plant.deploy("predictor:e0")
        forecaster.reload("north")
        until(lambda number=number: f"predictor:e0:{number}" in seen)
    stop.set()
    for thread in asking:
        thread.join()
    assert wrong == []
    assert ask(forecaster, "e0")[0].predictor == "predictor:e0:7"
    assert len(seen) > 1


def scaled_forecast(plant: Plant, issue) -> np.ndarray:
    return (SIZE * plant.instance.predict(plant.inputs(issue, TIMES))[:, 0]).astype(np.float32)


def test_an_unannounced_commit_is_found_in_time(plant, forecaster, monkeypatch):
    plant.deploy()
    plant.weather()
    ask(forecaster)
    plant.change(0, 0.5)
    plant.deploy("predictor:e0")
    assert ask(forecaster, "e0")[0].predictor == "predictor:e0:0"
    later = time.monotonic() + RECHECK + 1
    monkeypatch.setattr("clearwatt.service.forecasting.deployments.time.monotonic", lambda: later)
    assert ask(forecaster, "e0")[0].predictor == "predictor:e0:1"


def test_models_in_service_go_on_while_the_store_is_away(plant, forecaster, monkeypatch):
    def away(*args, **options):
        raise StoreUnavailableError("the database does not answer")

    plant.deploy()
    plant.weather()
    before = ask(forecaster)
    for method in ("statuses", "weather", "readings", "add_vintages", "version"):
        monkeypatch.setattr(plant.store, method, away)
    forecaster.reload("north")
    for one, other in zip(before, ask(forecaster), strict=True):
        np.testing.assert_array_equal(one.values, other.values)
        assert one.predictor == other.predictor


def test_a_store_that_is_away_from_the_start_is_named(plant, forecaster, monkeypatch):
    def away(*args, **options):
        raise StoreUnavailableError("the database does not answer")

    plant.deploy()
    plant.weather()
    with monkeypatch.context() as broken:
        broken.setattr(plant.store, "statuses", away)
        (forecast,) = ask(forecaster, "e0")
    assert "the models cannot be read now" in forecast.missing[0].reason
    later = time.monotonic() + RETRY + 1
    monkeypatch.setattr("clearwatt.service.forecasting.deployments.time.monotonic", lambda: later)
    assert set(ask(forecaster, "e0")[0].sources) == {Source.MODEL}


@pytest.mark.parametrize("strategy", ["RecentReplay", "GenerativeReplay", "generative-replay"])
def test_what_the_learner_deploys_is_what_forecasts(tmp_path, strategy):
    service = Service(tmp_path, World.of(hours=400, strategy=strategy))
    service.history(300)
    service.catch_up()
    forecaster = ForecastService(service.store, service.files)
    state, hours = service.learning.state, service.world.times[300:320]
    inputs = state.scaling.inputs("north", state.weather.frame(), instants(hours))
    expected = state.scaling.restore_power(state.models.instance.predict(inputs), state.columns)
    for column, entity in enumerate(state.columns):
        (forecast,) = forecaster.forecast(
            [entity], int(hours[0]), int(hours[-1]) + 1, levels=(0.25, 0.75)
        )
        low, high = forecast.quantiles
        np.testing.assert_allclose(
            forecast.values, np.clip(expected[:, column], low, high), rtol=1e-6
        )
        assert forecast.predictor == state.deployed[f"predictor:{entity}"]
    assert "clearwatt_novelty_fill_ratio{" in StatusGauges(service.store).text()
    forecaster.close()
    service.store.close()


def test_a_fallback_waits_for_the_verdicts_of_the_learner(plant, forecaster):
    plant.deploy(until=NOW - DAY + 6 * HOUR)
    plant.readings(0, TIMES - DAY, np.full(len(TIMES), 30.0))
    plant.readings(0, TIMES - 7 * DAY, np.full(len(TIMES), 20.0))
    (forecast,) = ask(forecaster, "e0")
    judged = TIMES <= NOW + 6 * HOUR
    assert set(forecast.values[judged]) == {30.0}
    assert set(forecast.values[~judged]) == {20.0}


def test_every_answer_is_within_the_physical_limits_of_its_entity(tmp_path):
    """A model that goes below zero, and a reading that a person released."""
    plant = Plant(tmp_path, kind="consumer")
    forecaster = ForecastService(plant.store, plant.files, clock=lambda: float(NOW))
    try:
        plant.deploy()
        plant.weather(hours=6)
        plant.readings(0, TIMES - DAY, np.full(len(TIMES), 99_999_999.0))
        verdicts = [
            Verdict(plant.entities[0].number, int(time), Flag.RELEASED, "a person's")
            for time in TIMES - DAY
        ]
        plant.store.commit(Outcome(plant.status(), verdicts=tuple(verdicts)))
        first, *others = ask(forecaster)
        assert set(first.sources) == {Source.MODEL, Source.YESTERDAY}
        assert first.values.max() == pytest.approx(1.3 * SIZE)
        assert min(np.nanmin(each.values) for each in others) == pytest.approx(-0.05 * SIZE)
    finally:
        forecaster.close()
        plant.store.close()
