"""Requests are counted by route."""

from prometheus_client.parser import text_string_to_metric_families


def test_requests_are_counted_by_route_not_by_id(planted):
    for name in ("e0", "e1", "e2"):
        planted.get(f"/v1/entities/{name}")
    planted.ask("GET", "/v1/entities/stranger")
    text = planted.ask("GET", "/metrics").text
    families = {family.name: family for family in text_string_to_metric_families(text)}
    counted = {
        (sample.labels["route"], sample.labels["status"]): sample.value
        for sample in families["clearwatt_http_requests"].samples
    }
    assert counted["/v1/entities/{entity}", "200"] == 3
    assert counted["/v1/entities/{entity}", "404"] == 1
