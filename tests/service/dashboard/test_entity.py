"""The page of an entity says what is known, offers what the viewer may do, and explains updates."""

from __future__ import annotations

import re
from dataclasses import asdict, replace

import numpy as np
import pytest
from tests.service.application import Web
from tests.service.plant import NOW, STEP, Plant

from clearwatt.clear.events import UpdateEvent
from clearwatt.clear.gate import BufferErrors, Comparison
from clearwatt.service.api.security.auth import create_token
from clearwatt.service.leads import LeadQuality
from clearwatt.service.records import Flag, Outcome, RegisteredEntity, ServiceEvent, Verdict
from clearwatt.service.status import ForecastSkill, IntervalQuality, SuspicionStatus
from clearwatt.service.times import text

EVIL = "<script>alert('x')</script>"


@pytest.fixture
def plant(tmp_path):
    made = Plant(tmp_path)
    made.deploy()
    made.readings(0, NOW + STEP * np.arange(4), [1.0, 2.0, 900.0, 4.0])
    return made


@pytest.fixture
def web(tmp_path, plant):
    made = Web(tmp_path, store=plant.store, files=plant.files)
    yield made
    made.close()


def page(web, path="/entities/e0", **request):
    answer = web.ask("GET", path, **request)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("text/html")
    return answer.text


def with_status(plant, **own):
    """Have the status say more about e0."""
    status = plant.status(position=5, generation=5)
    entities = {**status.entities, "e0": replace(status.entity("e0"), **own)}
    plant.store.commit(Outcome(replace(status, entities=entities)))


def update(plant, *, kind="update", held_back=None, reason=None, number=3):
    event = UpdateEvent(
        component="predictor",
        entity="e0",
        step=900,
        trigger="prediction",
        threshold_before=4.25,
        threshold_after=3.125,
        novel=300,
        familiar=1234,
        replayed=150,
        seconds=1.5,
        accepted=kind == "update",
        epochs=20,
        retained_bytes=2_500_000,
        recent_novel=40,
        recent_readings=96,
        novelty_error_before=6.5,
        novelty_error_after=2.5,
        familiarity_error_before=None,
        familiarity_error_after=None,
        reason=reason,
        held_back=held_back,
    )
    versions = {"before": f"predictor:e0:{number - 1}", "after": f"predictor:e0:{number}"}
    details = {**asdict(event), **versions}
    key = f"update:predictor:e0:{number}"
    plant.store.add_event(
        ServiceEvent(
            key, kind, event.explanation, NOW, zone="north", entity="e0", time=NOW, details=details
        )
    )
    return plant.store.events(limit=1)[0].seq


def test_it_shows_where_the_entity_stands_with_units(web):
    shown = page(web)
    assert "30 of 60" in shown
    assert "1.50 kW RMSE" in shown
    assert "predictor:e0:0" in shown
    assert f'data-first="{NOW}" data-last="{NOW + 3 * STEP}"' in shown
    assert shown.count("<h1>") == 1


def test_an_entity_that_is_inaccurate_has_a_warning_instead_of_green(web, plant):
    with_status(
        plant,
        skill=ForecastSkill(1344, 5.0, 4.0, worse=True),
        interval=IntervalQuality(1, 0.9, 3.0, 1344, 0.71, too_narrow=True),
    )
    shown = page(web)
    head = shown.split('data-part="head"')[1].split("</header>")[0]
    assert "state good" not in head
    assert '<span class="state warn">learning</span>' in head
    assert "was 25 % above that of repeating the same hour of the last known day" in head
    assert "contained only 71 % of the readings" in head
    assert "5.00 kW RMSE; repeating the last known day: 4.00 kW" in shown
    answer = web.get("/v1/entities/e0")
    assert answer["skill"] == {
        **{"skill": -0.25, "rmse": 5.0, "rmse_persistence": 4.0},
        **{"n": 1344, "worse": True},
    }
    assert answer["interval"]["coverage_two_weeks"] == 0.71
    assert answer["interval"]["too_narrow"] is True


def test_an_entity_as_good_as_its_figures_is_green(web, plant):
    with_status(plant, skill=ForecastSkill(1344, 3.0, 4.0))
    head = page(web).split('data-part="head"')[1].split("</header>")[0]
    assert '<span class="state good">learning</span>' in head
    assert "notice warn" not in head


def test_an_entity_without_anything_has_a_page_too(web, plant):
    plant.store.add_entities([RegisteredEntity("new", "north", "generator")])
    shown = page(web, "/entities/new")
    assert "No model yet" in shown
    assert "Learn the first model" in shown
    assert "data-first" not in shown


def test_names_stay_text(web, plant):
    plant.store.add_entities(
        [RegisteredEntity("odd", "north", "consumer", name=EVIL, unit="<b>kW")]
    )
    plant.store.add_event(ServiceEvent("k", "hold", EVIL, NOW, EVIL, "north", "odd"))
    shown = page(web, "/entities/odd")
    number = plant.store.events(limit=1)[0].seq
    for each in (shown, page(web, f"/entities/odd/events/{number}")):
        assert "<script>alert" not in each
        assert "<b>kW" not in each
        assert "&lt;script&gt;alert" in each


def test_buttons_are_those_that_make_sense_now(web, plant):
    assert "/v1/entities/e0/hold" in page(web)
    assert "/v1/entities/e0/resume" not in page(web)
    asked = replace(plant.status().entity("e0").component, approval=True)
    with_status(plant, held=True, component=asked, candidate="predictor:e0:7")
    shown = page(web)
    assert "/v1/entities/e0/resume" in shown
    assert "/v1/entities/e0/hold" not in shown
    assert "/v1/models/predictor%3Ae0%3A7/reject" in shown
    assert "Deploy without approval" in shown


def test_a_suspected_meter_has_its_reason_and_a_button_that_asks_first(web, plant):
    assert "suspicion/confirm" not in page(web)
    why = "readings since 2024-05-03T00:00:00Z are a thousandth of before: unit?"
    with_status(plant, suspicion=SuspicionStatus("wrong unit", int(NOW), why))
    shown = page(web)
    assert why in shown
    assert '/v1/entities/e0/suspicion/confirm" data-what="confirm the readings"' in shown
    assert 'data-confirm="Are the readings since' in shown


def test_a_reader_is_offered_nothing_to_change(tmp_path, plant):
    with_status(plant, candidate="predictor:e0:7")
    plant.store.commit(
        Outcome(
            status=plant.status(position=6, generation=6),
            verdicts=(Verdict(plant.entities[0].number, NOW, Flag.QUARANTINED, "stuck"),),
        )
    )
    reader, operator = create_token("r", "read"), create_token("o", "operate")
    for each in (reader, operator):
        plant.store.add_token(each.token)
    web = Web(tmp_path, store=plant.store, files=plant.files)
    shown = {
        each.token.role: page(web, headers={"Authorization": f"Bearer {each.text}"})
        for each in (reader, operator)
    }
    assert "data-url" in shown["operate"]
    assert 'type="checkbox"' in shown["operate"]
    assert "data-url" not in shown["read"]
    assert 'type="checkbox"' not in shown["read"]
    assert 'id="exclude"' not in shown["read"]
    assert "stuck" in shown["read"]
    web.close()


def test_quarantined_readings_and_excluded_windows_are_listed(web, plant):
    wild = NOW + 2 * STEP
    verdict = Verdict(plant.entities[0].number, wild, Flag.QUARANTINED, "out of range")
    plant.store.commit(Outcome(status=plant.status(position=4, generation=4), verdicts=(verdict,)))
    with_status(plant, exclusions=((NOW, NOW + STEP),), quarantined=1)
    shown = page(web)
    assert f'data-time="{text(wild)}" data-value="900.0"' in shown
    assert "out of range" in shown
    assert f'data-start="{text(NOW)}" data-end="{text(NOW + STEP)}"' in shown


def test_versions_that_are_not_in_service_can_be_activated(web, plant):
    plant.deploy("predictor:e0")
    shown = page(web)
    assert "/v1/models/predictor%3Ae0%3A0/activate" in shown
    assert "/v1/models/predictor%3Ae0%3A1/activate" not in shown
    plant.deploy("autoencoder:north")
    assert "of every entity of zone north" in page(web)


def in_service(shown):
    """The version that the card and the one that the table names."""
    card = re.findall(r"<dt>in service</dt><dd><code>(predictor:[^<]+)</code>", shown)
    rows = re.findall(
        r'<code>(predictor:[^<]+)</code></th>\s*<td data-label="State"><span class="state good">in '
        r"service",
        shown,
    )
    return card, rows


def test_the_page_names_the_version_that_forecasts_are_made_with(web, plant):
    plant.deploy("predictor:e0")
    assert in_service(page(web)) == (["predictor:e0:1"], ["predictor:e0:1"])
    plant.deploy("predictor:e0")
    plant.damage("predictor:e0:2")
    web.forecaster.reload("north")
    shown = page(web)
    assert in_service(shown) == (["predictor:e0:1"], ["predictor:e0:1"])
    answer = web.get("/v1/forecasts", entity="e0", start=text(NOW), end=text(NOW + STEP))
    assert answer["forecasts"][0]["predictor"] in ("predictor:e0:1", None)


def test_an_update_is_explained(web, plant):
    gate = Comparison(0.5, BufferErrors(samples=30, deployed=6.0, candidate=2.0), None)
    number = update(plant, held_back=gate)
    assert f"/entities/e0/events/{number}" in page(web)
    shown = page(web, f"/entities/e0/events/{number}")
    words = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", shown))
    for part in (
        "The prediction error exceeded its threshold often enough: 300 novel and 1,234 familiar",
        "40 of the last 96 readings",
        "Threshold 4.25 kW 3.12 kW",
        "Error on novel samples 6.50 kW 2.50 kW",
        "Error on familiar samples – –",
        "predictor:e0:2 predictor:e0:3",
        "20 epochs with 150 replayed samples in 1.50 s; 2.5 MB",
        "50 % higher",
        "on 30 held-back novel samples: 2.00 kW against 6.00 kW",
        "on held-back familiar samples: too few",
    ):
        assert part in words


def test_a_refused_update_says_why(web, plant):
    number = update(plant, kind="refused", reason="its mean error is worse")
    shown = page(web, f"/entities/e0/events/{number}")
    assert "Update refused" in shown
    assert "its mean error is worse" in shown


def test_an_event_of_the_whole_zone_is_on_the_page_and_that_of_another_entity_is_not(web, plant):
    for key, entity in (("zone", None), ("other", "e1")):
        plant.store.add_event(
            ServiceEvent(key, "hold", f"held {key}", NOW, zone="north", entity=entity)
        )
    whole, other = (event.seq for event in reversed(plant.store.events(limit=2)))
    assert f"/entities/e0/events/{whole}" in page(web)
    assert f"/entities/e0/events/{other}" not in page(web)
    assert "for the whole zone north" in page(web, f"/entities/e0/events/{whole}")
    web.refused(404, "GET", f"/entities/e0/events/{other}")
    web.refused(404, "GET", "/entities/e0/events/0")


def test_signals_keep_peaks_and_include_the_range_and_thresholds(web, plant):
    update(plant)
    span = {"start": text(NOW), "end": text(NOW + 4 * STEP)}
    found = web.get("/v1/signals", entity="e0", **span, points=2, by="extremes")
    assert found["measured"] == [1.0, 900.0]
    assert found["life"] == {"start": text(NOW), "end": text(NOW + 4 * STEP)}
    assert found["thresholds"] == [{"time": text(NOW), "value": 3.125}]
    web.refused(404, "GET", "/entities/nobody")


def test_a_picture_is_on_the_page_before_any_script_has_run(web, plant):
    drawn = re.findall(r"<polyline class='(\w+)' points='([^']+)'", page(web))
    assert [name for name, _ in drawn] == ["measured"]
    points = [tuple(map(float, point.split(","))) for point in drawn[0][1].split()]
    assert [x for x, _ in points] == sorted(x for x, _ in points)
    down = [y for _, y in points]
    assert down.index(min(down)) == 2, "the highest of the four readings is the third"
    assert (min(down), max(down)) == (0.0, 1000.0)


def test_errors_by_lead_are_a_table(web, plant):
    assert "after the first full day" in page(web)
    leads = LeadQuality(900, 1344, 0.5, 1.0, 0.9), LeadQuality(86_400, 1344, 2.0, 1.6, None)
    with_status(plant, leads=leads, size=20.0)
    found = page(web)
    table = found[found.index("Error by lead") :]
    rows = [re.sub(r"<[^>]*>", " ", row).split() for row in table.split("<tr>")[2:4]]
    assert rows[0] == ["15", "min", "0.500", "kW", "2.5", "%", "50", "%", "better", "90", "%"]
    assert rows[1][:8] == ["24", "h", "2.00", "kW", "10", "%", "25", "%"]
    assert rows[1][8:10] == ["worse", "–"]
