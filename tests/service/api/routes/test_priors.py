"""Priors over HTTP: imported by operators, exported, and named in the warm-up of an entity."""

import base64

from tests.service.application import PARK, ZONE
from tests.service.fleets import small_prior

from clearwatt.adaptive import FleetPrior
from clearwatt.service.api.security.auth import create_token
from clearwatt.service.records import Command


def encoded(content: bytes) -> dict[str, str]:
    return {"content": base64.b64encode(content).decode()}


def test_a_prior_is_imported_once_and_exported_as_it_was(web):
    prior = small_prior()
    first = web.post("/v1/priors", encoded(prior.to_bytes()))
    assert web.post("/v1/priors", encoded(prior.to_bytes())) == first
    assert (first["number"], first["origin"], first["digest"]) == (1, "imported", prior.digest)
    assert first["weather"] == ["wind", "sun"]
    assert [kind["kind"] for kind in first["kinds"]] == ["consumer", "generator"]
    assert web.get("/v1/priors")["priors"] == [first]
    found = web.get(f"/v1/priors/{prior.digest}")
    assert FleetPrior.from_bytes(base64.b64decode(found["content"])).digest == prior.digest
    web.refused(404, "GET", f"/v1/priors/{'0' * 64}")
    web.refused(422, "GET", "/v1/priors/newest")
    said = web.refused(422, "POST", "/v1/priors", json={"content": "no Base64!"})
    assert "not Base64" in said
    said = web.refused(422, "POST", "/v1/priors", json=encoded(b"something else"))
    assert "no fleet prior" in said


def test_only_operators_import(web):
    token = create_token("meters", "ingest")
    web.store.add_token(token.token)
    headers = {"Authorization": f"Bearer {token.text}"}
    content = encoded(small_prior().to_bytes())
    assert "operate" in web.refused(403, "POST", "/v1/priors", json=content, headers=headers)


def test_a_warm_up_names_the_prior_of_a_short_history(web):
    web.post("/v1/zones", ZONE)
    web.post("/v1/zones", ZONE | {"id": "paper", "settings": {"forecaster": "clear"}})
    web.post("/v1/entities", PARK)
    web.post("/v1/entities", PARK | {"id": "roof", "zone": "paper"})
    web.post("/v1/priors", encoded(small_prior().to_bytes()))
    web.post("/v1/zones/north/warmup")
    web.post("/v1/entities/park/warmup")
    web.post("/v1/zones/paper/warmup")
    commands = [
        entry.content
        for zone in ("north", "paper")
        for entry in web.store.journal(zone, after=0)
        if isinstance(entry.content, Command)
    ]
    named = {"priors": {"park": small_prior().digest}}
    assert [command.arguments for command in commands] == [named, named, {}]
