"""The way of a grid through the API: register, send, warm up, forecast, explain, hold, undo."""

import csv
import io

import pytest
from prometheus_client.parser import text_string_to_metric_families
from tests.service.application import Web, reading
from tests.service.journals import Service, World
from tests.service.plant import DAY, NOW, Plant

from clearwatt.service.app import create_app
from clearwatt.service.config import ServiceConfig
from clearwatt.service.store import StoreFullError, StoreUnavailableError
from clearwatt.service.times import text

ZONE = {"id": "north", "step": 900, "variables": ["wind", "sun"], "timezone": "Europe/Berlin"}
PARK = {"id": "park", "zone": "north", "kind": "generator", "capacity": 50.0, "name": "Park №1"}


@pytest.fixture
def web(tmp_path):
    made = Web(tmp_path)
    yield made
    made.close()


@pytest.fixture
def planted(tmp_path):
    """Three entities with models in service and two days of weather."""
    plant = Plant(tmp_path)
    plant.deploy()
    plant.weather()
    made = Web(tmp_path, store=plant.store, files=plant.files)
    made.plant = plant
    yield made
    made.close()


@pytest.fixture
def learned(tmp_path):
    """A zone that was warmed up over HTTP, and its fold in this process."""
    service = Service(tmp_path, World.of(novelty_capacity=20, alpha=1.0))
    made = Web(tmp_path, store=service.store, files=service.files)
    made.now = float(service.world.times[-1])
    service.weather(0, 400)
    service.send(0, 320)
    end = text(int(service.world.times[300]))
    made.warmup = made.post("/v1/zones/north/warmup", {"end": end})
    service.catch_up()
    made.service = service
    yield made
    made.close()


def test_zones_are_registered_once_and_never_changed_by_accident(web):
    answer = web.ask("POST", "/v1/zones", json=ZONE)
    assert (answer.status_code, answer.json()["state"]) == (201, "waiting")
    assert web.ask("POST", "/v1/zones", json=ZONE).status_code == 200
    assert "north" in web.refused(409, "POST", "/v1/zones", json={**ZONE, "step": 3600})
    assert web.get("/v1/zones/north")["step"] == 900
    assert [zone["id"] for zone in web.get("/v1/zones")["zones"]] == ["north"]
    web.refused(404, "GET", "/v1/zones/south")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"step": 7}, "greater than or equal to 60"),
        ({"step": 700}, "divide a day"),
        ({"step": 900.5}, "integer"),
        ({"id": "../etc"}, "id"),
        ({"id": ""}, "id"),
        ({"timezone": "Mars/Olympus"}, "no time zone"),
        ({"timezone": "../../etc/passwd"}, "no time zone"),
        ({"variables": []}, "variables"),
        ({"variables": ["a", "a"]}, "twice"),
        ({"settings": {"alpha": -1}}, "alpha"),
        ({"settings": {"alhpa": 1}}, "alhpa"),
        ({"name": "x" * 201}, "name"),
        ({"name": "bell\u0007"}, "control characters"),
        ({"color": "red"}, "unknown"),
    ],
)
def test_a_zone_that_makes_no_sense_is_refused_with_the_reason(web, change, why):
    assert why in web.refused(422, "POST", "/v1/zones", json={**ZONE, **change})
    assert web.get("/v1/zones")["zones"] == []


def test_zones_learn_as_the_service_was_started_unless_they_say_otherwise(tmp_path):
    web = Web(tmp_path, ServiceConfig(zone_defaults={"gate_margin": None, "lateness": 60}))
    answer = web.post("/v1/zones", {**ZONE, "settings": {"lateness": 7200}})
    assert (answer["settings"]["gate_margin"], answer["settings"]["lateness"]) == (None, 7200)
    # Started again in another way, the zone is still the same one.
    web.app = create_app(
        ServiceConfig(zone_defaults={"gate_margin": 0.3}),
        store=web.store,
        forecaster=web.forecaster,
        supervisor=web.learner,
        metrics=web.metrics,
    )
    assert web.ask("POST", "/v1/zones", json=ZONE).json()["settings"]["gate_margin"] is None
    web.close()


def test_entities_are_registered_one_by_one_or_all_at_once(web):
    web.post("/v1/zones", ZONE)
    assert web.post("/v1/entities", PARK)["created"] == 1
    many = [{**PARK, "id": f"p{k}", "kind": "consumer"} for k in range(5)]
    assert web.post("/v1/entities", {"entities": [PARK, *many]})["created"] == 5
    assert web.ask("POST", "/v1/entities", json=PARK).status_code == 200
    assert "park" in web.refused(409, "POST", "/v1/entities", json={**PARK, "capacity": 7.0})
    web.refused(422, "POST", "/v1/entities", json={**PARK, "id": "x", "zone": "nowhere"})
    broken = {"entities": [{**PARK, "id": "new"}, {**PARK, "capacity": 7.0}]}
    web.refused(409, "POST", "/v1/entities", json=broken)
    web.refused(404, "GET", "/v1/entities/new")


def test_entities_are_found_by_what_is_known_of_them(planted):
    planted.post("/v1/entities", {**PARK, "name": "Solar hill"})
    found = planted.get("/v1/entities", limit=2, sort="-id")
    assert (found["total"], [e["id"] for e in found["entities"]]) == (4, ["park", "e2"])
    ids = {
        "kind=generator": ["park"],
        "q=SOLAR": ["park"],
        "state=learning&offset=1": ["e1", "e2"],
        "zone=elsewhere": [],
        "sort=error&limit=1": ["park"],
        "sort=-error&offset=3": ["park"],
        "sort=-state&limit=1": ["park"],
        "sort=name&limit=2": ["e0", "e1"],
    }
    for query, expected in ids.items():
        page = planted.ask("GET", f"/v1/entities?{query}").json()
        assert [entity["id"] for entity in page["entities"]] == expected, query
    assert planted.get("/v1/entities/e0")["predictor"] == "predictor:e0:0"
    for wrong in ("limit=0", "sort=size", "offset=-1", "state=asleep", "colour=red"):
        planted.refused(422, "GET", f"/v1/entities?{wrong}")


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


def test_new_weather_counts_at_once(planted):
    span = {"entity": "e0", "start": text(NOW), "end": text(NOW + 3600)}
    before = planted.get("/v1/forecasts", **span)["forecasts"][0]
    times = [text(NOW + 3600 * hour) for hour in range(3)]
    issue = {
        "zone": "north",
        "issued_at": text(NOW + 60),
        "times": times,
        "values": {"sun": [800, 800, None], "wind": [19.0, 19.0, 19.0]},
    }
    assert planted.post("/v1/weather", issue)["new"] is True
    assert planted.post("/v1/weather", issue)["new"] is False
    after = planted.get("/v1/forecasts", **span)["forecasts"][0]
    assert after["weather"]["newest"] == text(NOW + 60)
    assert after["values"] != before["values"]


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
    before = {**span, "issued_before": text(NOW + 50)}
    assert len(planted.get("/v1/forecasts/vintages", **before)["vintages"]) == 1


def test_a_warm_up_over_http_is_carried_out_and_explained(learned):
    (event,) = learned.get("/v1/events", kind="warmup")["events"]
    assert event["key"] == learned.warmup["event"]
    entity = learned.get("/v1/entities/e0")
    assert (entity["state"], entity["predictor"]) == ("learning", "predictor:e0:0")
    zone = learned.get("/v1/zones/north")
    assert (zone["state"], zone["journal"]) == ("learning", zone["position"])
    models = learned.get("/v1/models", entity="e0")["models"]
    assert {model["id"] for model in models} == {"autoencoder:north:0", "predictor:e0:0"}
    assert "path" not in models[0]


def test_hold_resume_exclude_and_settings_are_commands_with_an_outcome(learned):
    learned.post("/v1/entities/e0/hold")
    learned.service.catch_up()
    assert learned.get("/v1/entities/e0")["state"] == "held"
    learned.post("/v1/entities/e0/resume", {})
    learned.put("/v1/zones/north/approval", {"required": True})
    learned.put("/v1/zones/north/settings", {"gate_margin": 0.5})
    times = learned.service.world.times
    window = {"start": text(int(times[10])), "end": text(int(times[20]))}
    learned.post("/v1/entities/e0/exclusions", {**window, "reason": "meter replaced"})
    learned.service.catch_up()
    entity = learned.get("/v1/entities/e0")
    assert (entity["state"], entity["approval"]) == ("learning", True)
    assert learned.get("/v1/entities/e0/exclusions")["exclusions"] == [window]
    assert learned.get("/v1/zones/north")["settings"]["gate_margin"] == 0.5
    flags = learned.get("/v1/measurements", entity="e0", **window)["flags"]
    assert set(flags) == {"excluded"}
    kinds = {event["kind"] for event in learned.get("/v1/events")["events"]}
    assert {"hold", "resume", "approval", "settings", "exclude"} <= kinds
    backwards = {"start": window["end"], "end": window["start"], "reason": "x"}
    learned.refused(422, "POST", "/v1/entities/e0/exclusions", json=backwards)


def test_models_can_be_rolled_back_and_candidates_approved_or_rejected(learned):
    learned.put("/v1/zones/north/approval", {"required": True})
    rejected = next_candidate(learned, 320)
    assert learned.get(f"/v1/models/{rejected}")["status"] == "awaiting"
    learned.post(f"/v1/models/{rejected}/reject")
    learned.service.catch_up()
    assert learned.get(f"/v1/models/{rejected}")["status"] == "refused"
    assert learned.get("/v1/entities/e0")["predictor"] == "predictor:e0:0"
    approved = next_candidate(learned, 590)
    assert approved != rejected
    learned.post(f"/v1/models/{approved}/activate")
    learned.service.catch_up()
    assert learned.get("/v1/entities/e0")["predictor"] == approved
    learned.refused(409, "POST", f"/v1/models/{approved}/reject")
    learned.refused(409, "POST", f"/v1/models/{approved}/activate")
    learned.post("/v1/models/predictor:e0:0/activate")
    learned.service.catch_up()
    assert learned.get("/v1/entities/e0")["predictor"] == "predictor:e0:0"
    learned.refused(404, "POST", "/v1/models/predictor:e0:999/activate")
    learned.refused(422, "GET", "/v1/models/no-such-thing")


def next_candidate(web, start):
    """Send eleven days of readings and name the model of e0 that awaits approval after them."""
    web.service.weather(start, start + 300)
    web.service.send(start, start + 270)
    web.service.catch_up()
    entity = web.get("/v1/entities/e0")
    assert entity["state"] == "awaiting approval"
    return entity["candidate"]


def test_quarantined_readings_are_listed_released_and_dropped(learned):
    service = learned.service
    start = 320
    service.weather(start, start + 200)
    wild = [int(service.world.times[start + k]) for k in (10, 40)]
    items = [reading("e0", time, 5000.0) for time in wild]
    learned.post("/v1/measurements", {"measurements": items})
    service.send(start, start + 10)
    later = service.world.readings(start + 11, start + 100, service.numbers)
    service.store.add_readings(
        later[~((later["entity"] == service.numbers[0]) & (later["time"] == wild[1]))], at=0.0
    )
    service.catch_up()
    held = learned.get("/v1/quarantine", entity="e0")["readings"]
    assert {each["time"] for each in held} == set(map(text, wild))
    assert all(each["reason"] and each["value"] == 5000.0 for each in held)
    first, second = ({"items": [{"entity": "e0", "time": text(time)}]} for time in wild)
    assert len(learned.post("/v1/quarantine/drop", first)["commands"]) == 1
    learned.post("/v1/quarantine/release", second)
    service.catch_up()
    assert learned.get("/v1/quarantine")["readings"] == []
    learned.refused(409, "POST", "/v1/quarantine/drop", json=first)
    stranger = {"items": [{"entity": "nobody", "time": text(wild[0])}]}
    learned.refused(404, "POST", "/v1/quarantine/release", json=stranger)


def test_signals_show_readings_beside_forecasts_in_as_many_points_as_wanted(learned):
    times = learned.service.world.times
    learned.service.weather(320, 420)
    learned.service.send(320, 400)
    learned.service.catch_up()
    span = {"entity": "e0", "start": text(int(times[310])), "end": text(int(times[390]))}
    whole = learned.get("/v1/signals", **span)
    assert len(whole["times"]) == 80
    both = [k for k, said in enumerate(whole["forecast"]) if said is not None]
    assert len(both) > 60
    for k in both:
        error = abs(whole["forecast"][k] - whole["measured"][k])
        assert whole["error"][k] == pytest.approx(error)
    assert whole["threshold"] > 0
    thin = learned.get("/v1/signals", **span, points=10)
    assert len(thin["times"]) == 10
    mean = sum(whole["measured"][:8]) / 8
    assert thin["measured"][0] == pytest.approx(mean)


def test_events_are_paged_in_both_directions_and_come_as_a_table(web):
    web.post("/v1/zones", ZONE)
    web.post("/v1/entities", PARK)
    for value in range(6):
        web.now += 1
        web.post("/v1/measurements", {"measurements": [reading("park", NOW, float(value))]})
    newest = web.get("/v1/events", limit=2)
    older = web.get("/v1/events", limit=2, before=newest["next"])
    numbers = [event["seq"] for page in (newest, older) for event in page["events"]]
    assert numbers == sorted(numbers, reverse=True)
    forward = web.get("/v1/events", after=numbers[-1], limit=2)
    assert [event["seq"] for event in forward["events"]] == [numbers[-2], numbers[-3]]
    assert web.get("/v1/events", kind="update")["events"] == []
    table = web.ask("GET", "/v1/events", headers={"Accept": "text/csv"})
    assert table.headers["content-type"].startswith("text/csv")
    rows = list(csv.DictReader(io.StringIO(table.text)))
    assert len(rows) == 5
    assert {row["kind"] for row in rows} == {"correction"}


def test_the_newest_day_is_shown_where_no_times_are_given(planted):
    items = [reading("e0", NOW - 900 * k, float(k)) for k in range(200)]
    planted.post("/v1/measurements", {"measurements": items})
    answer = planted.get("/v1/measurements", entity="e0")
    assert (answer["times"][-1], len(answer["times"])) == (text(NOW), 96)
    # Data of the past that are being replayed: now is where the replay is.
    planted.now += 400 * DAY
    (forecast,) = planted.get("/v1/forecasts", entity="e0")["forecasts"]
    assert forecast["times"][0] == text(NOW + 900)


def test_readiness_names_every_reason_and_stays_ready_for_lesser_troubles(web, monkeypatch):
    assert web.get("/healthz") == {"status": "ok"}
    ready = web.get("/readyz")
    assert (ready["reasons"], ready["open"]) == ([], True)
    web.limp(degraded={"north": "odd data"}, outage="full")
    assert len(web.get("/readyz")["notes"]) == 3
    for fault, word in (
        ({"alive": False}, "is not running"),
        ({"heartbeat_age": None}, "starting"),
        ({"heartbeat_age": 1000.0}, "no heartbeat for 1000 s"),
    ):
        web.limp(**fault)
        answer = web.ask("GET", "/readyz")
        assert answer.status_code == 503
        assert word in answer.json()["reasons"][0]

    def away():
        raise StoreUnavailableError("the database does not answer")

    monkeypatch.setattr(web.store, "check", away)
    assert len(web.ask("GET", "/readyz").json()["reasons"]) == 2
    assert web.get("/healthz") == {"status": "ok"}


def test_status_counts_zones_entities_and_rows(planted):
    planted.post("/v1/entities", PARK)
    status = planted.get("/v1/status")
    assert status["entities"] == {"learning": 3, "waiting": 1}
    assert status["zones"][0]["watermark"] == text(NOW)
    assert status["counts"]["entities"] == 4
    assert status["learner"]["alive"] is True


def test_requests_are_counted_by_route_not_by_id(planted):
    for name in ("e0", "e1", "e2"):
        planted.get(f"/v1/entities/{name}")
    planted.ask("GET", "/v1/entities/stranger")
    text = planted.ask("GET", "/metrics").text
    families = {family.name: family for family in text_string_to_metric_families(text)}
    counted = {
        (sample.labels["route"], sample.labels["status"]): sample.value
        for sample in families["clearwatt_http_requests"].samples
    }
    assert counted["/v1/entities/{entity}", "200"] == 3
    assert counted["/v1/entities/{entity}", "404"] == 1


def test_a_full_disk_stops_what_comes_in_and_not_what_goes_out(planted, monkeypatch):
    def full(*_, **__):
        raise StoreFullError("the disk is full; free space and send it again")

    monkeypatch.setattr(planted.store, "add_readings", full)
    monkeypatch.setattr(planted.store, "add_vintages", full)
    batch = {"measurements": [reading("e0", NOW)]}
    assert "free space" in planted.refused(507, "POST", "/v1/measurements", json=batch)
    assert planted.get("/v1/forecasts", entity="e0")["forecasts"][0]["fallback"] is False
