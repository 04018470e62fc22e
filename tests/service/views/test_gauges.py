"""Gauges of zones, entities, learner and store."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.service.plant import HOUR, NOW, Plant
from tests.service.scraping import scraped, watched

from clearwatt.service.leads import LeadQuality
from clearwatt.service.metrics import Metrics
from clearwatt.service.records import Outcome, ServiceEvent, Zone
from clearwatt.service.status import (
    EntityStatus,
    ForecastSkill,
    IntervalQuality,
    LiveErrors,
    SuspicionStatus,
)
from clearwatt.service.store import StoreUnavailableError
from clearwatt.service.views import zone_samples
from clearwatt.service.views.gauges import StatusGauges
from clearwatt.service.weather_pull import PullState


@pytest.fixture
def plant(tmp_path: Path):
    made = Plant(tmp_path)
    yield made
    made.store.close()


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


def test_weather_that_the_service_fetches_is_a_metric(plant):
    states = (
        PullState("north", NOW, stale=False, failures=2, error=None),
        PullState("south", None, stale=True, failures=9, error="no answer"),
    )
    metrics = Metrics()
    metrics.collect_from(StatusGauges(plant.store, weather=lambda: states))
    found = scraped(metrics)
    assert found["clearwatt_weather_issued_timestamp_seconds", "north"] == NOW
    assert ("clearwatt_weather_issued_timestamp_seconds", "south") not in found
    assert found["clearwatt_weather_stale", "north"] == 0
    assert found["clearwatt_weather_stale", "south"] == 1
    assert found["clearwatt_weather_failures_total", "south"] == 9


def test_skill_and_coverage_are_metrics(plant):
    plant.deploy()
    known = replace(
        plant.status().entity("e1"),
        skill=ForecastSkill(1344, 5.0, 4.0, worse=True),
        interval=IntervalQuality(n_two_weeks=1344, coverage_two_weeks=0.7, too_narrow=True),
    )
    plant.deploy(entities={"e0": plant.status().entity("e0"), "e1": known})
    found = scraped(watched(plant))
    assert found["clearwatt_skill_ratio", "e1", "north"] == -0.25
    assert found["clearwatt_persistence_rmse_power", "e1", "north"] == 4
    assert found["clearwatt_worse_than_persistence", "e1", "north"] == 1
    assert found["clearwatt_interval_coverage_two_weeks_ratio", "e1", "north"] == 0.7
    assert found["clearwatt_interval_too_narrow", "e1", "north"] == 1
    assert ("clearwatt_skill_ratio", "e0", "north") not in found
    assert found["clearwatt_worse_than_persistence", "e0", "north"] == 0
    assert found["clearwatt_interval_too_narrow", "e0", "north"] == 0


def test_errors_by_lead_are_metrics_of_the_zone(plant):
    plant.deploy()
    leads = LeadQuality(900, 100, 3.0, 6.0, 0.8), LeadQuality(3600, 100, 6.0, 6.0, None)
    known = {
        "e0": replace(plant.status().entity("e0"), leads=leads, size=30.0),
        "e1": replace(
            plant.status().entity("e1"), leads=(LeadQuality(900, 300, 2.0, 2.0, 1.0),), size=10.0
        ),
    }
    plant.deploy(entities=known)
    found = scraped(watched(plant))
    share, persistence = (0.25 * 0.1**2 + 0.75 * 0.2**2) ** 0.5, 0.2
    assert found["clearwatt_lead_rmse_ratio", "900", "north"] == pytest.approx(share)
    assert found["clearwatt_lead_skill_ratio", "900", "north"] == pytest.approx(
        1 - share / persistence
    )
    assert found["clearwatt_lead_coverage_ratio", "900", "north"] == pytest.approx(0.95)
    assert found["clearwatt_lead_skill_ratio", "3600", "north"] == 0
    assert ("clearwatt_lead_coverage_ratio", "3600", "north") not in found


def test_learner_and_store_stand_as_they_are(plant):
    plant.deploy()
    found = scraped(watched(plant))
    assert found["clearwatt_learner_up",] == 1
    assert found["clearwatt_learner_heartbeat_age_seconds",] == 3
    assert found["clearwatt_trainings_waiting",] == 4
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
        ServiceEvent(f"update:predictor:e0:{k}", "refused", "worse", at=0.0, zone="north")
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
    monkeypatch.setattr(plant.store, "status_stamps", away)
    found = scraped(metrics)
    assert found["clearwatt_store_up",] == 0
    assert found["clearwatt_learner_up",] == 1


def test_only_statuses_that_have_changed_are_read_again(plant, monkeypatch):
    plant.deploy()
    metrics, read, statuses = watched(plant), [], plant.store.statuses
    monkeypatch.setattr(
        plant.store, "statuses", lambda zones: read.append(zones) or statuses(zones)
    )
    before = scraped(metrics)
    degraded = "clearwatt_zone_degraded", "north"
    assert scraped(metrics)[degraded] == before[degraded] == 0
    assert read == [["north"]]
    numbered = {
        entity.id: replace(plant.status().entity(entity.id), number=entity.number)
        for entity in plant.entities
    }
    failing = plant.status(position=0, error="DataError: no such column", entities=numbered)
    plant.store.commit(Outcome(failing))
    found = scraped(metrics)
    assert read == [["north"]] * 2
    assert found[degraded] == 1
    plant.store.remove_entity(plant.entities[1], actor="Ada", at=1.0)
    assert ("clearwatt_quarantined_readings", "e1", "north") in found
    assert ("clearwatt_quarantined_readings", "e1", "north") not in scraped(metrics)


def test_of_very_many_entities_only_those_that_need_attention_are_shown(plant, monkeypatch):
    monkeypatch.setattr(zone_samples, "MOST_ENTITIES", 2)
    plant.deploy()
    known = plant.status().entity("e1")
    worse = replace(known, skill=ForecastSkill(1344, 5.0, 4.0, worse=True))
    narrow = replace(known, interval=IntervalQuality(n_two_weeks=1344, too_narrow=True))
    lying = replace(known, suspicion=SuspicionStatus("unit", 0, "a thousandth of before"))
    rising = replace(known, live=LiveErrors(rmse_day=3.0, rmse_week=1.0))
    entities = {"e0": known, "e1": worse, "e2": narrow, "e3": lying, "e4": rising}
    plant.deploy(entities=entities)
    found = scraped(watched(plant))
    assert found["clearwatt_zone_entities", "learning", "north"] == 5
    shown = [name for name in entities if ("clearwatt_suspected", name, "north") in found]
    assert shown == ["e1", "e2", "e3", "e4"]
    assert found["clearwatt_quarantined_readings", "e0", "north"] == 4
    assert found["clearwatt_suspected", "e3", "north"] == 1


def test_zones_that_learn_nothing_yet_are_scraped(plant):
    waiting = {"state": "waiting", "until": None, "watermark": None, "reconstruction": None}
    entities = {"e0": EntityStatus()}
    plant.deploy(**waiting, entities=entities, scaling=None)
    found = scraped(watched(plant))
    assert found["clearwatt_zone_state", "waiting", "north"] == 1
    assert ("clearwatt_zone_newest_reading_timestamp_seconds", "north") not in found


def test_a_scrape_shows_every_one_of_a_thousand_entities(plant):
    plant.deploy()
    one = plant.status().entity("e0")
    for zone in range(10):
        name = f"zone-{zone}"
        plant.store.add_zone(Zone(name, 900, ("wind", "sun")))
        entities = {f"{name}-{k}": one for k in range(100)}
        plant.store.commit(
            Outcome(plant.status(zone=name, position=0, generation=1, entities=entities))
        )
    metrics = watched(plant)
    shown = metrics.render().decode()
    for zone in range(10):
        for k in range(100):
            assert f'entity="zone-{zone}-{k}"' in shown


def test_a_deleted_entity_is_gone_before_the_learner_has_forgotten_it(plant):
    plant.deploy()
    (first, *_) = plant.store.entities("north")
    status = plant.store.status("north")
    numbered = {
        entity.id: replace(status.entities[entity.id], number=entity.number)
        for entity in plant.store.entities("north")
    }
    plant.store.commit(Outcome(replace(status, position=0, entities=numbered)))
    plant.store.remove_entity(first, actor="Ada", at=NOW)
    found = scraped(watched(plant))
    assert found["clearwatt_zone_entities", "learning", "north"] == 2
    assert not [labels for _, *labels in found if first.id in labels]
