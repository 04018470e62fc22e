"""Metrics of an application: counters, names and documentation."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families
from tests.service.plant import DAY, HOUR, NOW, Plant
from tests.service.scraping import scraped, watched

from clearwatt.service.forecasting.forecasts import ForecastService
from clearwatt.service.metrics import Metrics
from clearwatt.service.records import Receipt

DOCS = Path(__file__).parents[2] / "docs" / "metrics.md"


@pytest.fixture
def plant(tmp_path: Path):
    made = Plant(tmp_path)
    yield made
    made.store.close()


def test_requests_are_counted_by_route_and_status():
    metrics = Metrics()
    for status in (200, 200, 503):
        metrics.count_request(method="GET", route="/v1/zones/{id}", status=status, seconds=0.02)
    found = scraped(metrics)
    assert found["clearwatt_http_requests_total", "GET", "/v1/zones/{id}", "200"] == 2
    assert found["clearwatt_http_requests_total", "GET", "/v1/zones/{id}", "503"] == 1
    assert found["clearwatt_http_request_seconds_count", "/v1/zones/{id}"] == 3


def test_readings_are_counted_by_what_became_of_them():
    metrics = Metrics()
    metrics.count_readings(Receipt(new=5, duplicates=2, corrections=1), rejected=3)
    metrics.count_readings(Receipt(new=5, duplicates=0, corrections=0))
    metrics.count_weather("north")
    found = scraped(metrics)
    results = {"new": 10, "duplicates": 2, "corrections": 1, "rejected": 3}
    for result, count in results.items():
        assert found["clearwatt_ingested_readings_total", result] == count
    assert found["clearwatt_ingested_weather_issues_total", "north"] == 1


def test_two_applications_share_nothing():
    one, other = Metrics(), Metrics()
    one.count_weather("north")
    assert ("clearwatt_ingested_weather_issues_total", "north") not in scraped(other)


def test_forecasts_are_counted_by_source_with_their_ages(plant):
    plant.deploy()
    plant.weather(NOW - 2 * HOUR, start=NOW - 2 * HOUR, hours=8)
    metrics = Metrics(clock=lambda: NOW + 60)
    forecaster = ForecastService(plant.store, plant.files, metrics=metrics, clock=lambda: NOW)
    forecaster.forecast(["e0", "e1"], NOW, NOW + DAY)
    forecaster.close()
    found = scraped(metrics)
    assert found["clearwatt_forecasts_total",] == 2
    assert found["clearwatt_forecast_steps_total", "model"] == 2 * 25
    assert found["clearwatt_forecast_steps_total", "none"] == 2 * (96 - 25)
    assert found["clearwatt_fallbacks_total", "weather", "north"] == 2
    assert found["clearwatt_forecast_seconds_count",] == 1
    assert found["clearwatt_forecast_age_seconds", "north"] == 60
    assert found["clearwatt_forecast_weather_age_seconds", "north"] == 2 * HOUR + 60


def test_every_metric_is_documented_and_nothing_else(plant):
    text = watched(plant).render().decode()
    told = set(re.findall(r"^# TYPE (\S+)", text, flags=re.M))
    documented = set(re.findall(r"^\| `(clearwatt_\w+)`", DOCS.read_text(), flags=re.M))
    assert told == documented


def test_names_and_help_follow_the_conventions(plant):
    for family in text_string_to_metric_families(watched(plant).render().decode()):
        assert family.name.startswith("clearwatt_")
        assert family.documentation.endswith(".")
