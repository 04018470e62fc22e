"""Zones: registration, refusals and settings."""

import pytest
from tests.service.application import ZONE, Web

from clearwatt.service.app import create_app
from clearwatt.service.config import ServiceConfig


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


PLACE = {"latitude": 52.23, "longitude": 21.01}
FETCHING = {"weather": "open-meteo", "coordinates": PLACE}


def test_a_zone_whose_weather_is_fetched_needs_no_variables(web):
    zone = {"id": "north", "step": 900, "settings": FETCHING}
    answer = web.post("/v1/zones", zone)
    assert answer["settings"]["coordinates"] == PLACE
    assert {"wind_speed_80m", "shortwave_radiation_instant"} <= set(answer["variables"])
    assert web.ask("POST", "/v1/zones", json=zone).status_code == 200
    own = web.post("/v1/zones", {**zone, "id": "south", "variables": ["temperature_2m"]})
    assert own["variables"] == ["temperature_2m"]


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"weather": "open-meteo"}, "coordinates are missing"),
        ({**FETCHING, "weather": "crystal ball"}, "open-meteo"),
        ({"coordinates": {"latitude": 90.5, "longitude": 0}}, "given 90.5"),
        ({"coordinates": {"latitude": 0, "longitude": -180.5}}, "coordinates.longitude"),
        ({"coordinates": {"latitude": 1}}, "coordinates.longitude"),
        ({"coordinates": {**PLACE, "altitude": 3}}, "coordinates.altitude"),
        ({"coordinates": [52.23, 21.01]}, "coordinates"),
        (FETCHING, "'wind' is no weather variable"),
    ],
)
def test_weather_that_cannot_be_fetched_is_refused_with_the_reason(web, settings, why):
    assert why in web.refused(422, "POST", "/v1/zones", json={**ZONE, "settings": settings})
    web.post("/v1/zones", ZONE)
    assert why in web.refused(422, "PUT", "/v1/zones/north/settings", json=settings)


def test_a_source_of_weather_may_be_set_for_known_coordinates(web):
    zone = {**ZONE, "variables": ["temperature_2m"], "settings": {"coordinates": PLACE}}
    web.post("/v1/zones", zone)
    web.put("/v1/zones/north/settings", {"weather": "open-meteo"})
    said = web.refused(
        422, "PUT", "/v1/zones/north/settings", json={"weather": "open-meteo", "coordinates": None}
    )
    assert "coordinates are missing" in said
