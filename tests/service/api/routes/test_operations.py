"""Probes and status."""

import shutil

from tests.service.application import PARK, Web
from tests.service.plant import NOW

from clearwatt.service.store import StoreUnavailableError
from clearwatt.service.times import text


def test_readiness_names_every_reason_and_stays_ready_for_lesser_troubles(web, monkeypatch):
    assert web.get("/healthz") == {"status": "ok"}
    ready = web.get("/readyz")
    assert (ready["reasons"], ready["open"]) == ([], True)
    web.limp(degraded={"north": "odd data"}, outage="unavailable")
    assert len(web.get("/readyz")["notes"]) == 3
    for fault, word in (
        ({"alive": False}, "is not running"),
        ({"heartbeat_age": None}, "starting"),
        ({"heartbeat_age": 1000.0}, "no heartbeat for 1000 s"),
        ({"outage": "full"}, "the disk is full"),
    ):
        web.limp(**fault)
        answer = web.ask("GET", "/readyz")
        assert answer.status_code == 503
        assert word in answer.json()["reasons"][0]

    def away():
        raise StoreUnavailableError("the database does not answer")

    monkeypatch.setattr(web.store, "check", away)
    assert len(web.ask("GET", "/readyz").json()["reasons"]) == 2
    assert web.get("/healthz") == {"status": "ok"}


def test_status_counts_zones_entities_and_rows(planted):
    planted.post("/v1/entities", PARK)
    status = planted.get("/v1/status")
    assert status["entities"] == {"learning": 3, "waiting": 1}
    assert status["zones"][0]["watermark"] == text(NOW)
    assert status["counts"]["entities"] == 4
    assert status["learner"]["alive"] is True


def test_a_service_on_a_full_disk_is_not_ready_until_there_is_room(small_disk):
    web = Web(small_disk)
    try:
        assert web.get("/readyz")["reasons"] == []
        (small_disk / "rest").write_bytes(bytes(shutil.disk_usage(small_disk).free))
        answer = web.ask("GET", "/readyz")
        assert answer.status_code == 503
        assert "is full" in answer.json()["reasons"][0]
        (small_disk / "rest").unlink()
        assert web.get("/readyz")["reasons"] == []
    finally:
        web.close()
