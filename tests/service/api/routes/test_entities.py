"""Entities: registration and search."""

from tests.service.application import PARK, ZONE


def test_entities_are_registered_one_by_one_or_all_at_once(web):
    web.post("/v1/zones", ZONE)
    assert web.post("/v1/entities", PARK)["created"] == 1
    many = [{**PARK, "id": f"p{k}", "kind": "consumer"} for k in range(5)]
    assert web.post("/v1/entities", {"entities": [PARK, *many]})["created"] == 5
    assert web.ask("POST", "/v1/entities", json=PARK).status_code == 200
    assert "park" in web.refused(409, "POST", "/v1/entities", json={**PARK, "capacity": 7.0})
    web.refused(422, "POST", "/v1/entities", json={**PARK, "id": "x", "zone": "nowhere"})
    broken = {"entities": [{**PARK, "id": "new"}, {**PARK, "capacity": 7.0}]}
    web.refused(409, "POST", "/v1/entities", json=broken)
    web.refused(404, "GET", "/v1/entities/new")


def test_entities_are_found_by_what_is_known_of_them(planted):
    planted.post("/v1/entities", {**PARK, "name": "Solar hill"})
    found = planted.get("/v1/entities", limit=2, sort="-id")
    assert (found["total"], [e["id"] for e in found["entities"]]) == (4, ["park", "e2"])
    ids = {
        "kind=generator": ["park"],
        "q=SOLAR": ["park"],
        "state=learning&offset=1": ["e1", "e2"],
        "zone=elsewhere": [],
        "sort=error&limit=1": ["park"],
        "sort=-error&offset=3": ["park"],
        "sort=-state&limit=1": ["park"],
        "sort=name&limit=2": ["e0", "e1"],
    }
    for query, expected in ids.items():
        page = planted.ask("GET", f"/v1/entities?{query}").json()
        assert [entity["id"] for entity in page["entities"]] == expected, query
    assert planted.get("/v1/entities/e0")["predictor"] == "predictor:e0:0"
    for wrong in ("limit=0", "sort=size", "offset=-1", "state=asleep", "colour=red"):
        planted.refused(422, "GET", f"/v1/entities?{wrong}")
