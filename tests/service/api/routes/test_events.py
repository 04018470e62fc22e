"""Events: pages and tables."""

import csv
import io

import pytest
from tests.service.application import PARK, ZONE, Web, reading
from tests.service.plant import NOW

from clearwatt.service.store import open_store


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


@pytest.mark.parametrize("number", [2**63, 10**30])
@pytest.mark.parametrize("path", ["/v1/events?before=", "/v1/events?after=", "/events?before="])
def test_numbers_that_no_event_can_have_are_refused(web, path, number):
    answer = web.ask("GET", f"{path}{number}")
    assert answer.status_code == 422
    assert web.ask("GET", f"{path}{2**63 - 1}").status_code == 200


def test_a_stream_cannot_begin_after_a_number_that_no_event_can_have(web):
    web.refused(422, "GET", "/v1/stream", headers={"Last-Event-ID": str(2**63)})
    web.refused(422, "GET", f"/v1/stream?after={2**63}")


def test_control_characters_in_a_filter_are_refused_whatever_the_store(address, tmp_path):
    web = Web(tmp_path, store=open_store(address))
    try:
        for name in ("kind", "zone", "entity"):
            web.refused(422, "GET", f"/v1/events?{name}=a%00")
        for name in ("what", "zone", "entity"):
            assert web.ask("GET", f"/events?{name}=a%00").status_code == 422
        assert web.ask("GET", "/events?since=0001-01-01&until=9999-12-31").status_code == 200
    finally:
        web.close()
