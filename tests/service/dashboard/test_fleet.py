"""The fleet as a page and as JSON: found, sorted, paged, and everything in it text."""

import re
from dataclasses import replace
from html import unescape

import pytest
from tests.service.application import NOW, Web

from clearwatt.service.dashboard.fleet import SHOWN
from clearwatt.service.records import Outcome, RegisteredEntity, Zone
from clearwatt.service.status import (
    ComponentStatus,
    EntityStatus,
    ForecastSkill,
    IntervalQuality,
    LiveErrors,
    ZoneStatus,
)

EVIL = "<script>alert(1)</script>"


def status_of(day, week, *, novel=10, updated=NOW, **own):
    status = EntityStatus(
        "learning",
        "predictor:x:1",
        live=LiveErrors(n_day=96, rmse_day=day, n_week=672, rmse_week=week),
        spark=(week,) * 6 + (day,),
        component=ComponentStatus(novel=novel, familiar=40, capacity=100, updates=2),
        last_update=updated,
    )
    return replace(status, **own)


@pytest.fixture
def web(tmp_path):
    made = Web(tmp_path)
    for zone in ("north", "south"):
        made.store.add_zone(Zone(zone, 900, ("wind",)))
    made.store.add_entities(
        [
            RegisteredEntity("calm", "north", "generator", name="Beta"),
            RegisteredEntity("bad", "north", "consumer", name=EVIL),
            RegisteredEntity("waits", "north", "residual", unit="MW", name="Delta"),
            RegisteredEntity("dirty", "north", "generator", name="Alpha"),
            RegisteredEntity("new one", "south", "consumer"),
        ]
    )
    entities = {
        "calm": status_of(9.0, 12.0, novel=90),
        "bad": status_of(25.0, 10.0, novel=50),
        "waits": status_of(4.0, 4.1, state="awaiting approval", candidate="predictor:waits:2"),
        "dirty": status_of(3.0, 2.0, quarantined=7, updated=NOW + 60),
    }
    made.store.commit(Outcome(ZoneStatus("north", 3, 1, "learning", entities=entities)))
    yield made
    made.close()


def shown(web, **query):
    """Ids on the page, in order."""
    answer = web.ask("GET", "/", params=query)
    assert answer.status_code == 200, answer.text
    return re.findall(r'data-entity="([^"]+)"', answer.text)


def row(web, entity):
    """The words of an entity's row."""
    text = web.ask("GET", "/").text
    found = text.split(f'data-entity="{entity}"')[1].split("</tr>")[0]
    return unescape(" ".join(re.sub(r"<title>.*?</title>|<[^>]*>", " ", found).split()))


def test_those_that_need_somebody_come_first(web):
    assert shown(web) == ["bad", "waits", "dirty", "calm", "new one"]
    assert shown(web, alerts="true") == ["bad", "waits", "dirty"]


def test_a_row_says_how_an_entity_stands_in_words_and_units(web):
    calm = row(web, "calm")
    for words in ("learning", "9.00 kW", "25 % below the week", "(12.0 kW)", "90 of 100 samples"):
        assert words in calm
    assert "40 familiar" in calm
    assert "2024-06-01 00:00 UTC" in calm
    assert "150 % above the week" in row(web, "bad")
    assert "2.5 times the week's" in row(web, "bad")
    assert "4.00 MW" in row(web, "waits")
    assert "as over the week" in row(web, "waits")
    assert "predictor:waits:2 awaits approval" in row(web, "waits")
    assert "7 readings in quarantine" in row(web, "dirty")
    assert "waiting" in row(web, "new one")
    text = web.ask("GET", "/").text
    assert "12.0 kW, 12.0 kW, 12.0 kW, 12.0 kW, 12.0 kW, 12.0 kW, 9.00 kW" in text
    assert 'href="/entities/new%20one"' in text


def test_an_entity_worse_than_persistence_looks_like_a_warning(web):
    worse = status_of(
        9.0,
        12.0,
        skill=ForecastSkill(1344, 12.0, 10.0, worse=True),
        interval=IntervalQuality(coverage_two_weeks=0.9),
    )
    web.store.commit(Outcome(ZoneStatus("north", 4, 1, "learning", entities={"calm": worse})))
    assert "20 % above that of repeating the same hour of the last known day" in row(web, "calm")
    markup = web.ask("GET", "/").text.split('data-entity="calm"')[1].split("</tr>")[0]
    assert '<span class="state warn">inaccurate</span>' in markup
    assert "25 % below the week" in markup
    assert "state good" not in markup
    assert shown(web, state="inaccurate") == ["calm"]
    (entity,) = web.get("/v1/fleet", state="inaccurate")["entities"]
    assert entity["skill"] == pytest.approx(-0.2)
    assert entity["coverage"] == 0.9
    assert [alert["kind"] for alert in entity["alerts"]] == ["inaccurate"]


def judged(skill, coverage, **own):
    """An entity with two weeks behind it."""
    return status_of(
        5.0,
        5.0,
        skill=ForecastSkill(1344, 1 - skill, 1.0, worse=skill < 0),
        interval=IntervalQuality(coverage_two_weeks=coverage, too_narrow=coverage < 0.8),
        **own,
    )


def test_the_fleet_is_ranked_by_skill_and_by_coverage(web):
    entities = {
        "calm": judged(0.4, 0.7),
        "bad": judged(-2.5, 0.95),
        "dirty": judged(0.1, 0.9),
    }
    web.store.commit(Outcome(ZoneStatus("north", 4, 1, "learning", entities=entities)))
    unknown = ["waits", "new one"]
    assert shown(web, sort="skill") == ["bad", "dirty", "calm", *unknown]
    assert shown(web, sort="-skill") == ["calm", "dirty", "bad", *unknown]
    assert shown(web, sort="coverage") == ["calm", "dirty", "bad", *unknown]
    assert shown(web, sort="-coverage") == ["bad", "dirty", "calm", *unknown]
    assert shown(web) == ["bad", "calm", "dirty", *unknown], "alerts on both, the worst skill first"
    assert "↑ 250 % worse" in row(web, "bad")
    assert "70 %, too few" in row(web, "calm")
    assert "↓ 10 % better" in row(web, "dirty")
    assert "not known yet" in row(web, "new one")


def test_an_error_is_also_a_share_of_capacity(web):
    web.app.state.context.registry.add_entities(
        [RegisteredEntity(f"of {size:g}", "south", "consumer", size) for size in (40.0, 400.0)]
    )
    entities = {"of 40": status_of(6.0, 6.0), "of 400": status_of(16.0, 16.0)}
    web.store.commit(Outcome(ZoneStatus("south", 1, 1, "learning", entities=entities)))
    assert "6.00 kW 15 % of capacity" in row(web, "of 40")
    assert "16.0 kW 4.0 % of capacity" in row(web, "of 400")
    assert "of capacity" not in row(web, "calm")
    assert shown(web, sort="-share", zone="south") == ["of 40", "of 400", "new one"]


def test_names_stay_text(web):
    text = web.ask("GET", "/", params={"q": '"><script>alert(2)</script>'}).text
    assert "<script>" not in text
    assert "<script>" not in web.ask("GET", "/").text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in web.ask("GET", "/").text


def test_scripts_and_handlers_are_never_inside_a_page(web):
    for path in ("/", "/health", "/login"):
        answer = web.ask("GET", path, headers={"Accept": "text/html"})
        assert re.findall(r"<script(?![^>]*\bsrc=)", answer.text) == []
        assert re.findall(r"<[^>]+\son\w+=", answer.text) == []


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"q": "ALPHA"}, ["dirty"]),
        ({"q": "new"}, ["new one"]),
        ({"zone": "south"}, ["new one"]),
        ({"kind": "generator"}, ["dirty", "calm"]),
        ({"state": "degraded"}, ["bad"]),
        ({"state": "awaiting approval", "zone": "", "q": ""}, ["waits"]),
        ({"state": "held"}, []),
    ],
)
def test_the_fleet_can_be_searched_and_filtered(web, query, expected):
    assert shown(web, **query) == expected


@pytest.mark.parametrize(
    ("sort", "expected"),
    [
        ("name", ["bad", "dirty", "calm", "waits", "new one"]),
        ("-error", ["bad", "calm", "waits", "dirty", "new one"]),
        ("-trend", ["bad", "dirty", "waits", "calm", "new one"]),
        ("-fill", ["calm", "bad", "dirty", "waits", "new one"]),
        ("-updated", ["dirty", "bad", "calm", "waits", "new one"]),
        ("-zone", ["new one", "bad", "dirty", "calm", "waits"]),
    ],
)
def test_the_fleet_can_be_sorted(web, sort, expected):
    assert shown(web, sort=sort) == expected
    answer = web.get("/v1/fleet", sort=sort)
    assert [entity["id"] for entity in answer["entities"]] == expected


def test_a_sorted_column_says_so_and_turns_round(web):
    text = web.ask("GET", "/", params={"sort": "-error", "zone": "north"}).text
    (head,) = re.findall(r'<th scope="col" aria-sort="descending"><a href="([^"]+)">', text)
    assert unescape(head) == "/?zone=north&sort=error"


def test_pages_are_links_that_keep_what_was_asked(web):
    many = [
        RegisteredEntity(f"m{number:03}", "south", "consumer") for number in range(2 * SHOWN + 5)
    ]
    web.app.state.context.registry.add_entities(many)
    query, seen = "/?zone=south&sort=-name", []
    while query:
        text = web.ask("GET", query).text
        seen += re.findall(r'data-entity="([^"]+)"', text)
        following = re.findall(r'href="([^"]+)">Next</a>', text)
        query = unescape(following[0]) if following else None
    assert seen == sorted([each.id for each in many] + ["new one"], reverse=True)
    beyond = web.ask("GET", "/", params={"offset": 5000}).text
    assert "No entity fits" in beyond
    back = unescape(re.findall(r'href="([^"]+)">Previous</a>', beyond)[0])
    assert 'data-entity="' in web.ask("GET", back).text


def test_the_api_has_all_that_the_page_shows(web):
    fleet = web.get("/v1/fleet", limit=2)
    assert (fleet["total"], fleet["everyone"], fleet["alerts"]) == (5, 5, 3)
    assert fleet["states"] == {
        "degraded": 1,
        "awaiting approval": 1,
        "learning": 2,
        "waiting": 1,
    }
    bad = fleet["entities"][0]
    assert (bad["rmse_day"], bad["rmse_week"], bad["unit"]) == (25.0, 10.0, "kW")
    assert bad["spark"] == [10.0] * 6 + [25.0]
    assert (bad["novel"], bad["novelty_capacity"], bad["familiar"]) == (50, 100, 40)
    assert bad["last_update"] == "2024-06-01T00:00:00Z"
    assert [alert["kind"] for alert in bad["alerts"]] == ["degraded"]
    assert "sort" in web.refused(422, "GET", "/v1/fleet?sort=luck")


def test_a_service_without_entities_says_how_to_begin(tmp_path):
    web = Web(tmp_path)
    assert "POST /v1/entities" in web.ask("GET", "/").text
    web.close()
