"""The log as a page and as a file."""

import csv
import io
import re

import pytest
from tests.service.application import Web

from clearwatt.service.dashboard.events import GROUPS, SHOWN
from clearwatt.service.records import RegisteredEntity, ServiceEvent, Zone

EVIL = "<img src=x onerror=alert(1)>"


@pytest.fixture
def web(tmp_path):
    made = Web(tmp_path)
    made.store.add_zone(Zone("north", 900, ("wind",)))
    made.store.add_entities(
        [RegisteredEntity("e1", "north", "consumer"), RegisteredEntity("e2", "north", "consumer")]
    )
    yield made
    made.close()


def record(web, key, *, kind="update", entity="e1", at=1_717_000_000.0, **fields):
    message = fields.pop("message", f"this is {key}")
    web.store.add_event(ServiceEvent(key, kind, message, at, zone="north", entity=entity, **fields))


def rows(web, **query):
    """The cells of each row, without tags."""
    answer = web.ask("GET", "/events", params=query)
    assert answer.status_code == 200, answer.text
    body = answer.text.split("<tbody>")[1].split("</tbody>")[0]
    return [
        [re.sub(r"<[^>]*>", "", cell).strip() for cell in re.findall(r"<td.*?</td>", row, re.S)]
        for row in re.findall(r"<tr>.*?</tr>", body, re.S)
    ]


def test_a_row_says_when_what_where_why_and_by_whom(web):
    record(web, "k1", actor="Ada", details={"threshold_before": 1.5, "gate": "passed"})
    ((when, what, where, words, by),) = rows(web)
    assert when == "2024-05-29 16:26 UTC"
    assert (what, where, by) == ("update", "e1", "Ada")
    assert words.startswith("this is k1")
    assert re.search(r"threshold before\s*1\.5", words)
    assert re.search(r"gate\s*passed", words)


def test_what_others_wrote_stays_text(web):
    record(web, "k1", message=EVIL, actor=EVIL, details={EVIL: EVIL})
    text = web.ask("GET", "/events", params={"entity": '"><script>alert(1)</script>'}).text
    assert "<script>alert" not in text
    text = web.ask("GET", "/events").text
    assert EVIL not in text
    assert text.count("&lt;img") == 4


@pytest.mark.parametrize(
    ("query", "keys"),
    [
        ({}, ["c", "b", "a"]),
        ({"entity": "e1"}, ["b", "a"]),
        ({"entity": "nobody"}, []),
        ({"zone": "north", "what": "hold"}, ["c"]),
        ({"what": "Learning"}, ["b", "a"]),
        ({"what": "no such kind"}, []),
        ({"since": "2024-05-30"}, ["c"]),
        ({"until": "2024-05-29"}, ["b", "a"]),
        ({"since": "yesterday"}, ["c", "b", "a"]),
    ],
)
def test_the_form_narrows_the_page_and_the_export_alike(web, query, keys):
    record(web, "a")
    record(web, "b", kind="refused")
    record(web, "c", kind="hold", entity="e2", at=1_717_100_000.0)
    shown = [row[3].split()[2] for row in rows(web, **query)]
    assert shown == keys
    page = web.ask("GET", "/events", params=query).text
    link = re.search(r'id="export" href="([^"]*)"', page)[1].replace("&amp;", "&")
    table = web.ask("GET", link)
    assert table.headers["content-disposition"].startswith("attachment")
    assert [row["key"] for row in csv.DictReader(io.StringIO(table.text))] == keys


def test_every_event_is_reached_by_going_back(web):
    for number in range(2 * SHOWN + 1):
        record(web, f"k{number}")
    seen, address = [], "/events"
    while address:
        page = web.ask("GET", address).text
        seen += re.findall(r"this is (k\d+)", page)
        older = re.search(r'href="(/events\?[^"]*)" rel="next"', page)
        address = older[1].replace("&amp;", "&") if older else None
    assert seen == [f"k{number}" for number in reversed(range(2 * SHOWN + 1))]


def test_an_export_is_not_cut_off_where_a_page_would_be(web, monkeypatch):
    monkeypatch.setattr("clearwatt.service.api.routes.events.AT_A_TIME", 2)
    for key in "abcde":
        record(web, key)
    table = list(csv.DictReader(io.StringIO(web.ask("GET", "/v1/events/export").text)))
    assert [row["key"] for row in table] == list("edcba")


def test_no_kind_is_in_two_groups():
    kinds = [kind for group in GROUPS.values() for kind in group]
    assert len(kinds) == len(set(kinds))
