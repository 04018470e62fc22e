"""What Prometheus is told, read back with its own parser."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from clearwatt.service.forecasting.forecasts import Forecaster
from clearwatt.service.metrics import Metrics
from clearwatt.service.records import Event, Outcome, Receipt, Zone
from clearwatt.service.status import EntityStatus
from clearwatt.service.store import StoreUnavailableError
from clearwatt.service.views.gauges import StatusGauges

from .plant import DAY, HOUR, NOW, Plant

DOCS = Path(__file__).parents[2] / "docs" / "metrics.md"


class Learner:
    """A learner that spoke three seconds ago and was restarted twice."""

    alive, heartbeat, restarts = True, NOW - 3.0, 2


@pytest.fixture
def plant(tmp_path: Path):
    made = Plant(tmp_path)
    yield made
    made.store.close()


def scraped(metrics: Metrics) -> dict[tuple[str, ...], float]:
    """Samples by name and label values (sorted by label)."""
    families = text_string_to_metric_families(metrics.render().decode())
    return {
        (sample.name, *(sample.labels[key] for key in sorted(sample.labels))): sample.value
        for family in families
        for sample in family.samples
    }


def watched(plant: Plant) -> Metrics:
    metrics = Metrics(clock=lambda: NOW)
    metrics.collect_from(StatusGauges(plant.store, learner=Learner(), clock=lambda: NOW))
    return metrics


def test_requests_are_counted_by_route_and_status():
    metrics = Metrics()
    for status in (200, 200, 503):
        metrics.request_answered(method="GET", route="/v1/zones/{id}", status=status, seconds=0.02)
    found = scraped(metrics)
    assert found["clearwatt_http_requests_total", "GET", "/v1/zones/{id}", "200"] == 2
    assert found["clearwatt_http_requests_total", "GET", "/v1/zones/{id}", "503"] == 1
    assert found["clearwatt_http_request_seconds_count", "/v1/zones/{id}"] == 3


def test_readings_are_counted_by_what_became_of_them():
    metrics = Metrics()
    metrics.readings_taken(Receipt(new=5, duplicates=2, corrections=1), rejected=3)
    metrics.readings_taken(Receipt(new=5, duplicates=0, corrections=0))
    metrics.weather_taken("north")
    found = scraped(metrics)
    results = {"new": 10, "duplicates": 2, "corrections": 1, "rejected": 3}
    for result, count in results.items():
        assert found["clearwatt_ingested_readings_total", result] == count
    assert found["clearwatt_ingested_weather_issues_total", "north"] == 1


def test_two_applications_share_nothing():
    one, other = Metrics(), Metrics()
    one.weather_taken("north")
    assert ("clearwatt_ingested_weather_issues_total", "north") not in scraped(other)


def test_forecasts_are_counted_by_source_with_their_ages(plant):
    plant.deploy()
    plant.weather(NOW - 2 * HOUR, start=NOW - 2 * HOUR, hours=8)
    metrics = Metrics(clock=lambda: NOW + 60)
    forecaster = Forecaster(plant.store, plant.files, metrics=metrics, clock=lambda: NOW)
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


def test_zones_and_entities_stand_as_their_status_says(plant):
    plant.deploy()
    plant.weather()
    found = scraped(watched(plant))
    assert found["clearwatt_zone_state", "learning", "north"] == 1
    assert found["clearwatt_zone_entities", "learning", "north"] == 3
    assert found["clearwatt_zone_pending_rows", "north"] == 3
    assert found["clearwatt_zone_newest_reading_timestamp_seconds", "north"] == NOW
    assert found["clearwatt_reconstruction_threshold", "north"] == 0.2
    assert found["clearwatt_prediction_threshold_power", "e1", "north"] == 0.2
    assert found["clearwatt_novelty_fill_ratio", "predictor", "e1", "north"] == 0.5
    assert found["clearwatt_novelty_fill_ratio", "autoencoder", "", "north"] == 0.5
    assert found["clearwatt_live_rmse_power", "e1", "day", "north"] == 1.5
    assert ("clearwatt_live_mae_power", "e1", "week", "north") not in found
    assert found["clearwatt_quarantined_readings", "e1", "north"] == 4
    assert found["clearwatt_updates_total", "predictor", "e1", "north"] == 2


def test_learner_and_store_stand_as_they_are(plant):
    plant.deploy()
    found = scraped(watched(plant))
    assert found["clearwatt_learner_up",] == 1
    assert found["clearwatt_learner_heartbeat_age_seconds",] == 3
    assert found["clearwatt_learner_restarts_total",] == 2
    assert found["clearwatt_store_up",] == 1
    assert found["clearwatt_store_bytes",] > 0


def test_what_the_learner_has_not_taken_in_waits(plant):
    plant.weather(NOW - HOUR)
    plant.weather(NOW)
    assert scraped(watched(plant))["clearwatt_journal_waiting_entries", "north"] == 2


def test_events_are_counted_from_the_start_of_the_service_on(plant, monkeypatch):
    monkeypatch.setattr("clearwatt.service.views.gauges._PAGE", 2)
    refused = [
        Event(f"update:predictor:e0:{k}", "refused", "worse", at=0.0, zone="north")
        for k in range(5)
    ]
    plant.store.add_event(refused[0])
    metrics = watched(plant)
    for event in refused[1:3]:
        plant.store.add_event(event)
    assert scraped(metrics)["clearwatt_promotions_refused_total", "north"] == 2
    for event in refused[3:]:
        plant.store.add_event(event)
    found = scraped(metrics)
    assert found["clearwatt_promotions_refused_total", "north"] == 4
    assert found["clearwatt_events_total", "refused"] == 4


def test_ids_with_odd_characters_survive(plant):
    odd = 'a "b" \\ c\nd'
    plant.deploy(entities={odd: EntityStatus(quarantined=7)})
    assert scraped(watched(plant))["clearwatt_quarantined_readings", odd, "north"] == 7


def test_a_store_that_is_away_does_not_cost_the_scrape(plant, monkeypatch):
    def away(*args, **options):
        raise StoreUnavailableError("the database does not answer")

    metrics = watched(plant)
    monkeypatch.setattr(plant.store, "statuses", away)
    found = scraped(metrics)
    assert found["clearwatt_store_up",] == 0
    assert found["clearwatt_learner_up",] == 1


def test_zones_that_learn_nothing_yet_are_scraped(plant):
    waiting = {"state": "waiting", "until": None, "watermark": None, "reconstruction": None}
    entities = {"e0": EntityStatus()}
    plant.deploy(**waiting, entities=entities, scaling=None)
    found = scraped(watched(plant))
    assert found["clearwatt_zone_state", "waiting", "north"] == 1
    assert ("clearwatt_zone_newest_reading_timestamp_seconds", "north") not in found


def test_every_metric_is_documented_and_nothing_else(plant):
    text = watched(plant).render().decode()
    told = set(re.findall(r"^# TYPE (\S+)", text, flags=re.M))
    documented = set(re.findall(r"^\| `(clearwatt_\w+)`", DOCS.read_text(), flags=re.M))
    assert told == documented


def test_names_and_help_follow_the_conventions(plant):
    for family in text_string_to_metric_families(watched(plant).render().decode()):
        assert family.name.startswith("clearwatt_")
        assert family.documentation.endswith(".")


def test_a_scrape_of_ten_thousand_entities_takes_less_than_a_second(plant):
    plant.deploy()
    one = plant.status().entity("e0")
    for zone in range(100):
        name = f"zone-{zone}"
        plant.store.add_zone(Zone(name, 900, ("wind", "sun")))
        entities = {f"{name}-{k}": one for k in range(100)}
        plant.store.commit(
            Outcome(plant.status(zone=name, position=0, generation=1, entities=entities))
        )
    metrics = watched(plant)
    began = time.process_time()
    size = len(metrics.render())
    assert time.process_time() - began < 1.0
    assert size > 1_000_000
