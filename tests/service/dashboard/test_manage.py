"""The pages on which zones and entities are renamed and deleted."""

import pytest
from tests.service.application import PARK, ZONE, Web

from clearwatt.service.api.security.auth import create_token

FORM = {"Content-Type": "application/x-www-form-urlencoded"}


@pytest.fixture
def web(tmp_path):
    made = Web(tmp_path)
    made.post("/v1/zones", ZONE)
    made.post("/v1/entities", PARK)
    yield made
    made.close()


def send(web, path, **headers):
    path, _, content = path.partition("?")
    return web.ask("POST", path, content=content, headers={**FORM, **headers})


def test_an_entity_is_renamed_by_a_form(web):
    assert send(web, "/entities/park/rename?name=Dach+S%C3%BCd").status_code == 303
    assert web.get("/v1/entities/park")["name"] == "Dach Süd"
    assert "Dach Süd" in web.ask("GET", "/").text
    (event,) = web.get("/v1/events", kind="rename")["events"]
    assert event["message"] == "park is called 'Dach Süd' now, before 'Park №1'"
    assert web.post("/v1/entities", PARK)["created"] == 0, "a repeated registration conflicts"
    assert send(web, "/zones/north/rename?name=").status_code == 422


def test_only_the_typed_id_deletes(web):
    page = web.ask("GET", "/entities/park/manage").text
    assert "clearwatt backup" in page
    answer = send(web, "/entities/park/delete?confirm=north")
    assert answer.status_code == 422
    assert "Nothing was deleted" in answer.text
    assert send(web, "/entities/park/delete?confirm=park").status_code == 303
    assert "unknown" in web.refused(404, "GET", "/v1/entities/park")
    assert web.learner.woken >= 1
    assert "north" in web.ask("GET", "/zones").text
    assert send(web, "/zones/north/delete?confirm=north").status_code == 303
    assert web.get("/v1/zones")["zones"] == []
    assert web.get("/v1/events", kind="delete")["events"][0]["zone"] == "north"


def test_readings_of_a_deleted_entity_are_refused(web):
    batch = {"measurements": [{"entity": "park", "time": "2024-05-31T00:00:00Z", "value": 1.0}]}
    assert web.post("/v1/measurements", batch)["new"] == 1
    assert web.ask("DELETE", "/v1/entities/park").status_code == 202
    web.refused(422, "POST", "/v1/measurements", json=batch)
    while web.store.remove_readings():
        pass
    web.post("/v1/entities", {**PARK, "capacity": 70.0})
    assert web.get("/v1/measurements", entity="park", start="2024-05-30T00:00:00Z")["times"] == []
    assert web.post("/v1/measurements", batch)["new"] == 1
    web.ask("DELETE", "/v1/zones/north")
    assert "unknown" in web.refused(404, "DELETE", "/v1/zones/north")


def test_who_may_not_operate_and_other_sites_delete_nothing(web):
    reader, operator = create_token("reader", "read"), create_token("operator", "operate")
    for each in (reader, operator):
        web.store.add_token(each.token)
    web.app.state.context.tokens.refresh()
    mine = {"Authorization": f"Bearer {reader.text}"}
    assert send(web, "/entities/park/delete?confirm=park", **mine).status_code == 403
    assert "needs the role" in web.ask("GET", "/entities/park/manage", headers=mine).text
    login = send(web, f"/login?token={operator.text}", Origin="http://127.0.0.1:8000")
    cookie = login.headers["set-cookie"].partition(";")[0]
    foreign = {"Cookie": cookie, "Origin": "http://evil.example"}
    assert send(web, "/entities/park/delete?confirm=park", **foreign).status_code == 403
    own = {"Cookie": cookie, "Origin": "http://127.0.0.1:8000"}
    assert send(web, "/entities/park/delete?confirm=park", **own).status_code == 303
