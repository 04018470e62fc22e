"""Events: pages and tables."""

import csv
import io

from tests.service.application import PARK, ZONE, reading
from tests.service.plant import NOW


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
