"""Nodes over HTTP: listed with their zones, drained and resumed by operators."""

from tests.service.application import ZONE

from clearwatt.service.api.security.auth import create_token


def test_a_service_on_one_machine_has_no_nodes(web):
    web.post("/v1/zones", ZONE)
    assert web.get("/v1/cluster") == {"nodes": [], "unheld": []}
    assert "<h2>Nodes</h2>" not in web.ask("GET", "/health").text


def test_nodes_are_listed_with_their_zones_and_what_they_tell(web):
    web.post("/v1/zones", ZONE)
    node = web.store.register_node("learner-1", "learner")
    assert web.get("/v1/cluster")["unheld"] == ["north"]
    web.store.take_zones(node, limit=5)
    web.store.beat(node, {"queue": 7, "training": 1, "outage": None})
    web.store.register_node("web-1", "web")
    found = web.get("/v1/cluster")
    assert found["unheld"] == []
    learner, other = found["nodes"]
    assert (learner["name"], learner["state"], learner["zones"]) == (
        "learner-1",
        "running",
        ["north"],
    )
    assert (learner["queue"], learner["training"]) == (7, 1)
    assert (other["role"], other["zones"], other["queue"]) == ("web", [], None)
    assert [each["name"] for each in web.get("/v1/health")["nodes"]] == ["learner-1", "web-1"]
    page = web.ask("GET", "/health").text
    assert "<h2>Nodes</h2>" in page
    assert "learner-1" in page


def test_a_node_is_drained_and_resumed(web):
    node = web.store.register_node("learner-1", "learner")
    assert web.post("/v1/cluster/nodes/learner-1/drain")["state"] == "draining"
    assert web.store.beat(node, {})
    assert web.post("/v1/cluster/nodes/learner-1/resume")["state"] == "running"
    assert not web.store.beat(node, {})
    said = web.refused(404, "POST", "/v1/cluster/nodes/learner-9/drain")
    assert "GET /v1/cluster" in said


def test_only_operators_drain(web):
    web.store.register_node("learner-1", "learner")
    token = create_token("reader", "read")
    web.store.add_token(token.token)
    headers = {"Authorization": f"Bearer {token.text}"}
    web.refused(403, "POST", "/v1/cluster/nodes/learner-1/drain", headers=headers)
    assert web.ask("GET", "/v1/cluster", headers=headers).status_code == 200
