"""Forecasts over HTTP: models, fallbacks, quantiles, and forecasts issued in the past."""

from __future__ import annotations

import pytest
from prometheus_client.parser import text_string_to_metric_families
from tests.service.application import PARK, Web, reading
from tests.service.journals import STEP, World
from tests.service.learner.apply.test_zone_learning import played
from tests.service.plant import DAY, NOW

from clearwatt.intervals import LEVELS
from clearwatt.service.store import StoreUnavailableError
from clearwatt.service.times import text
from clearwatt.service.views.gauges import StatusGauges


@pytest.fixture(scope="module")
def world():
    return World.of(700)


@pytest.fixture(scope="module")
def web(tmp_path_factory, world):
    folder = tmp_path_factory.mktemp("intervals") / "a"
    service = played(folder, world)
    made = Web(folder, store=service.store, files=service.files)
    yield made
    made.close()


def forecast(web, world, **query):
    start = int(world.times[len(world.power)])
    span = {"start": text(start), "end": text(start + 30 * STEP)}
    return web.ask("GET", "/v1/forecasts", params={"entity": "e0", **span, **query})


def answer(web, world, **query):
    answered = forecast(web, world, **query)
    assert answered.status_code == 200, answered.text
    return answered.json()["forecasts"][0]


def test_the_usual_quantiles_come_unasked(web, world):
    said = answer(web, world)
    assert said["levels"] == list(LEVELS)
    assert [len(each) for each in said["quantiles"]] == [30] * 7
    for time, source in enumerate(said["sources"]):
        column = [each[time] for each in said["quantiles"]]
        assert column == sorted(column) if source == "model" else column == [None] * 7
    assert "model" in said["sources"]


def test_forecasts_are_the_same_from_memory_while_the_store_does_not_answer(
    web, world, monkeypatch
):
    before = answer(web, world)

    def fail():
        raise StoreUnavailableError("the database does not answer")

    monkeypatch.setattr(web.store, "read_session", fail)
    monkeypatch.setattr(web.store, "write_session", fail)
    without = answer(web, world)
    assert (without["values"], without["quantiles"]) == (before["values"], before["quantiles"])
    asked = web.ask("GET", "/v1/forecasts", params={"entity": "e0"})  # from now on
    assert asked.status_code == 200, asked.text


def test_other_quantiles_or_none_can_be_asked_for(web, world):
    said = answer(web, world, level=[0.2, 0.8])
    assert said["levels"] == [0.2, 0.8]
    assert len(said["quantiles"]) == 2
    without = answer(web, world, intervals=False)
    assert (without["levels"], without["quantiles"]) == ([], [])
    assert without["values"] == said["values"]


@pytest.mark.parametrize("levels", [[0.0], [1.5], [0.9, 0.1], [0.5, 0.5], ["nan"]])
def test_levels_that_make_no_sense_are_refused(web, world, levels):
    answered = forecast(web, world, level=levels)
    assert answered.status_code == 422
    assert "level" in answered.text


def test_the_coverage_of_intervals_is_reported(web):
    interval = web.ask("GET", "/v1/entities/e0").json()["interval"]
    assert interval["n_week"] == 7 * 24
    assert 0.5 < interval["coverage_week"] <= 1
    families = text_string_to_metric_families(StatusGauges(web.app.state.context.store).text())
    found = {family.name: family for family in families}
    (coverage,) = [
        sample.value
        for sample in found["clearwatt_interval_coverage_ratio"].samples
        if sample.labels["entity"] == "e0"
    ]
    assert coverage == pytest.approx(interval["coverage_week"])
    page = web.ask("GET", "/entities/e0").text
    assert f"contained {100 * coverage:.0f} % of the last week's readings" in page


def test_forecasts_name_their_models_weather_and_issue(planted):
    start, end = text(NOW), text(NOW + DAY)
    (answer,) = planted.get("/v1/forecasts", entity="e1", start=start, end=end)["forecasts"]
    assert len(answer["times"]) == len(answer["values"]) == 96
    assert (answer["times"][0], answer["issued_at"]) == (start, text(NOW))
    assert (answer["encoder"], answer["predictor"]) == ("autoencoder:north:0", "predictor:e1:0")
    assert answer["weather"] == {"oldest": text(NOW), "newest": text(NOW)}
    assert set(answer["sources"]) == {"model"}
    assert not answer["fallback"]
    expected = planted.forecaster.forecast(["e1"], NOW, NOW + DAY)[0].values
    assert answer["values"] == pytest.approx(expected.tolist())


def test_forecasts_come_for_several_entities_or_a_zone(planted):
    asked = "entity=e2&entity=e0&entity=e2"
    named = planted.ask("GET", f"/v1/forecasts?{asked}").json()["forecasts"]
    assert [each["entity"] for each in named] == ["e2", "e0"]
    whole = planted.get("/v1/forecasts", zone="north")["forecasts"]
    assert [each["entity"] for each in whole] == ["e0", "e1", "e2"]
    assert {len(each["times"]) for each in whole} == {192}
    planted.refused(422, "GET", "/v1/forecasts")
    planted.refused(422, "GET", "/v1/forecasts?zone=north&entity=e0")
    planted.refused(404, "GET", "/v1/forecasts?entity=stranger")
    backwards = f"entity=e0&start={text(NOW)}&end={text(NOW - 1)}"
    assert "not after" in planted.refused(422, "GET", f"/v1/forecasts?{backwards}")
    endless = f"entity=e0&start={text(NOW)}&end=2199-01-01T00:00:00Z"
    assert "at most" in planted.refused(422, "GET", f"/v1/forecasts?{endless}")


def test_without_weather_or_model_a_marked_fallback_answers(planted):
    planted.post("/v1/entities", PARK)
    items = [reading("park", NOW - DAY, 12.5)]
    planted.post("/v1/measurements", {"measurements": items})
    span = {"start": text(NOW), "end": text(NOW + 900)}
    (answer,) = planted.get("/v1/forecasts", entity="park", **span)["forecasts"]
    assert (answer["values"], answer["sources"]) == ([12.5], ["yesterday"])
    assert answer["fallback"]
    assert "no model yet" in answer["missing"][0]["reason"]
    far = {"start": text(NOW + 9 * DAY), "end": text(NOW + 9 * DAY + 900)}
    (answer,) = planted.get("/v1/forecasts", entity="e0", **far)["forecasts"]
    assert (answer["values"], answer["sources"]) == ([None], ["none"])
    assert answer["missing"][0]["cause"] == "weather"


def test_what_was_forecast_when_and_by_which_model_is_kept(planted):
    span = {"entity": "e0", "start": text(NOW), "end": text(NOW + 3600)}
    said = planted.get("/v1/forecasts", **span)["forecasts"][0]
    planted.plant.change(0, -1.0)
    planted.plant.deploy("predictor:e0")
    planted.forecaster.reload("north")
    planted.now += 100
    planted.get("/v1/forecasts", **span)
    planted.forecaster.recorder.close()
    new, old = planted.get("/v1/forecasts/vintages", **span)["vintages"]
    assert (new["predictor"], old["predictor"]) == ("predictor:e0:1", "predictor:e0:0")
    assert old["values"] == said["values"] != new["values"]
    assert (old["leads"], new["leads"]) == ([0, 900, 1800, 2700], [-100, 800, 1700, 2600])
    before = {**span, "issued_before": text(NOW + 50)}
    assert len(planted.get("/v1/forecasts/vintages", **before)["vintages"]) == 1
