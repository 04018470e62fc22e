"""Commands over HTTP, and their outcome."""

from tests.service.application import Web
from tests.service.learner.apply.test_suspicion import played, world_of

from clearwatt.service.times import text


def test_a_warm_up_over_http_is_carried_out_and_explained(learned):
    (event,) = learned.get("/v1/events", kind="warmup")["events"]
    assert event["key"] == learned.warmup["event"]
    entity = learned.get("/v1/entities/e0")
    assert (entity["state"], entity["predictor"]) == ("learning", "predictor:e0:0")
    zone = learned.get("/v1/zones/north")
    assert (zone["state"], zone["journal"]) == ("learning", zone["position"])
    models = learned.get("/v1/models", entity="e0")["models"]
    assert {model["id"] for model in models} == {"autoencoder:north:0", "predictor:e0:0"}
    assert "path" not in models[0]


def test_hold_resume_exclude_and_settings_are_commands_with_an_outcome(learned):
    learned.post("/v1/entities/e0/hold")
    learned.service.catch_up()
    assert learned.get("/v1/entities/e0")["state"] == "held"
    learned.post("/v1/entities/e0/resume", {})
    learned.put("/v1/zones/north/approval", {"required": True})
    learned.put("/v1/zones/north/settings", {"gate_margin": 0.5})
    times = learned.service.world.times
    window = {"start": text(int(times[10])), "end": text(int(times[20]))}
    learned.post("/v1/entities/e0/exclusions", {**window, "reason": "meter replaced"})
    learned.service.catch_up()
    entity = learned.get("/v1/entities/e0")
    assert (entity["state"], entity["approval"]) == ("learning", True)
    (excluded,) = learned.get("/v1/entities/e0/exclusions")["exclusions"]
    assert excluded["actor"]
    assert {**window, "reason": "meter replaced", "whole_zone": False}.items() <= excluded.items()
    assert learned.get("/v1/zones/north")["settings"]["gate_margin"] == 0.5
    flags = learned.get("/v1/measurements", entity="e0", **window)["flags"]
    assert set(flags) == {"excluded"}
    kinds = {event["kind"] for event in learned.get("/v1/events")["events"]}
    assert {"hold", "resume", "approval", "settings", "exclude"} <= kinds
    learned.post("/v1/entities/e0/exclusions/undo", window)
    learned.service.catch_up()
    assert learned.get("/v1/entities/e0/exclusions")["exclusions"] == []
    flags = learned.get("/v1/measurements", entity="e0", **window)["flags"]
    assert set(flags) == {"released"}
    backwards = {"start": window["end"], "end": window["start"], "reason": "x"}
    learned.refused(422, "POST", "/v1/entities/e0/exclusions", json=backwards)
    del backwards["reason"]
    learned.refused(422, "POST", "/v1/entities/e0/exclusions/undo", json=backwards)


def test_a_setting_that_returns_to_its_default_is_told_in_its_event(learned):
    for value in (100_000, None):
        learned.put("/v1/zones/north/settings", {"work": value})
        learned.service.catch_up()
    changed = [each["details"]["changed"] for each in learned.get("/v1/events")["events"][:2]]
    assert changed == [{"work": None}, {"work": 100_000}]


def test_a_suspicion_is_shown_and_confirmed_over_http(tmp_path):
    service = played(tmp_path, world_of("clear"))
    web = Web(tmp_path, store=service.store, files=service.files)
    entity = web.get("/v1/entities/e0")
    assert entity["state"] == "suspected"
    assert "a thousandth of before: unit?" in entity["suspicion"]["reason"]
    web.post("/v1/entities/e0/suspicion/confirm", {"reason": "it counts in MW now"})
    service.catch_up()
    assert web.get("/v1/entities/e0")["suspicion"] is None
    (event,) = web.get("/v1/events", kind="confirm")["events"]
    assert event["details"]["reason"] == "it counts in MW now"
    web.close()
