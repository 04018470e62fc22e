"""How the service fares, as a page and as numbers."""

import re
from dataclasses import replace
from html import unescape

import pytest
from tests.service.application import NOW, STEP, Web, reading
from tests.service.plant import Plant

from clearwatt.service.records import Outcome


@pytest.fixture
def web(tmp_path):
    plant = Plant(tmp_path)
    plant.deploy()
    plant.weather()
    made = Web(tmp_path, store=plant.store, files=plant.files)
    yield made
    made.close()


def words(web):
    """What the page says, without tags."""
    answer = web.ask("GET", "/health")
    assert answer.status_code == 200, answer.text
    return unescape(" ".join(re.sub(r"<[^>]*>", " ", answer.text).split()))


def test_what_comes_in_and_goes_out_is_measured(web):
    before = web.get("/v1/health")
    assert (before["readings_per_second"], before["forecast_age_seconds"]) == (0, None)
    entity = web.get("/v1/entities")["entities"][0]["id"]
    readings = [reading(entity, NOW - STEP * back) for back in range(1, 31)]
    web.post("/v1/measurements", {"measurements": readings})
    web.get("/v1/forecasts", entity=entity)
    web.now += 90
    after = web.get("/v1/health")
    assert 0 < after["readings_per_second"] <= 30
    assert after["forecast_age_seconds"] == 90
    zone = after["zones"][0]
    assert zone["forecast_at"] == "2024-06-01T00:00:00Z"
    assert zone["weather_at"] is not None
    assert after["counts"]["readings"] >= 30
    assert "90 s old" in words(web)


def test_the_learner_and_what_waits_for_it_are_shown(web):
    zone = web.get("/v1/zones")["zones"][0]["id"]
    web.limp(restarts=3, queue=1234, training=1, updating=(zone,), heartbeat_age=7.4)
    report = web.get("/v1/health")
    assert (report["queue"], report["training"]) == (1234, 1)
    assert report["zones"][0]["updating"] is True
    page = words(web)
    for part in ("1 zone in training", "waiting 1,234", "restarts 3", "7 s ago", "updating"):
        assert part in page


def test_trouble_is_named(web):
    web.limp(alive=False, heartbeat_age=100.0, outage="full")
    report = web.get("/v1/health")
    assert report["ready"] is False
    assert "learner" in report["reasons"][0]
    page = words(web)
    assert "Not ready" in page
    assert "not running" in page
    assert "no: the store is full" in page


def test_a_zone_in_trouble_comes_first(web):
    web.register(zone="aaa")
    known = next(iter(web.store.statuses().values()))
    error = "DataError: <b>odd</b>"
    worse = replace(known, position=known.position + 1, generation=1, error=error)
    web.store.commit(Outcome(worse))
    report = web.get("/v1/health")
    assert [zone["id"] for zone in report["zones"]] == [known.zone, "aaa"]
    assert report["zones"][0]["error"] == error
    assert "DataError: &lt;b&gt;odd&lt;/b&gt;" in web.ask("GET", "/health").text
    assert "degraded DataError: <b>odd</b>" in words(web)


def test_models_and_releases_are_counted(web):
    report = web.get("/v1/health")
    entities = web.get("/v1/entities")["entities"]
    assert report["models"]["deployed"] == sum(bool(each["predictor"]) for each in entities) > 0
    assert report["models"]["versions"] == len(web.get("/v1/models")["models"])
    assert {"clearwatt", "python", "torch"} <= report["software"].keys()
