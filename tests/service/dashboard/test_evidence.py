"""What an operator reads before and after a model is put into service, for both forecasters."""

from __future__ import annotations

import re
from typing import Any

import pytest
from tests.service.application import Web
from tests.service.journals import SETTINGS, STEP, Service, World

ADAPTIVE: dict[str, Any] = {
    "forecaster": "adaptive",
    "memory": 400,
    "novelty_days": 1.0,
    "lateness": 6 * STEP,
}
HISTORY, HOURS = 300, 600


class Zone:
    """A zone in which a model of e0 awaits approval, and its pages."""

    def __init__(self, folder: Any, base: dict[str, Any]) -> None:
        self.service = Service(folder, World.of(hours=HOURS, base=base))
        self.service.history(HISTORY)
        self.service.command("approval", "e0", required=True)
        self.service.weather(HISTORY, HOURS + 48)
        self.service.send(HISTORY, HOURS)
        self.service.catch_up()
        self.web = Web(folder, store=self.service.store, files=self.service.files)

    @property
    def candidate(self) -> str:
        found = self.service.status.entity("e0").candidate
        assert found is not None
        return found

    def decide(self, version: str, verb: str) -> None:
        self.web.post(f"/v1/models/{version}/{verb}")
        self.service.catch_up()

    def words(self, path: str) -> str:
        """The text of a page."""
        answer = self.web.ask("GET", path)
        assert answer.status_code == 200, answer.text
        return re.sub(r"\s+", " ", re.sub(r"<title>.*?</title>|<[^>]+>", " ", answer.text))

    def in_service(self) -> str:
        """The version that the page of e0 says is in service."""
        shown = self.web.ask("GET", "/entities/e0").text
        (card,) = re.findall(r"<dt>in service</dt><dd><code>(predictor:[^<]+)</code>", shown)
        return str(card)

    def newest(self, kind: str) -> int:
        return self.service.store.events(entity="e0", kinds=[kind])[0].seq


@pytest.fixture(scope="module", params=[SETTINGS, ADAPTIVE], ids=["clear", "adaptive"])
def zone(request, tmp_path_factory):
    """Decisions of the last test stay: it comes after those that only read."""
    made = Zone(tmp_path_factory.mktemp("zone"), request.param)
    yield made
    made.web.close()


def test_an_update_is_explained_for_an_operator_first(zone):
    markup = zone.web.ask("GET", f"/entities/e0/events/{zone.newest('awaiting')}").text
    article = markup.split("<article")[1]
    plain, folded = article.split("<details", 1)
    assert "When the model before was wrong" in plain
    assert "What changes for the next day" in plain
    assert "<svg class='day'" in plain and "class='before'" in plain and "class='after'" in plain
    for number in ("Threshold", "familiar"):
        assert number not in plain
        assert number in folded


def test_a_model_of_another_entity_is_not_shown(zone):
    zone.web.refused(404, "GET", "/entities/e0/versions/predictor:e1:0")
    zone.web.refused(404, "GET", "/entities/e0/versions/predictor:e0:77")


def test_the_evidence_is_beside_approval_and_the_page_says_what_is_in_service(zone):
    candidate = zone.candidate
    assert zone.in_service() == "predictor:e0:0"
    page = zone.words("/entities/e0")
    assert f"{candidate} is trained and awaits approval. Until then predictor:e0:0" in page
    assert "What it would change" in page
    shown = zone.words(f"/entities/e0/versions/{candidate}")
    assert "When the model in service was wrong" in shown
    assert re.search(r"off by [\d.]+ kW \([\d.]+ % of capacity\) on average, (mostly|some)", shown)
    assert f"Errors on the same {14 * 24} readings of these two weeks" in shown
    assert re.search(rf"{candidate} says ([\d.]+ kW (more|less)|about the same) on average", shown)
    assert "not in service" in shown
    zone.decide(candidate, "activate")
    assert zone.in_service() == candidate
    assert "in service now" in zone.words(f"/entities/e0/versions/{candidate}")
    zone.decide("predictor:e0:0", "activate")
    assert zone.in_service() == "predictor:e0:0"
    for kind in ("awaiting", "activate"):
        event = zone.words(f"/entities/e0/events/{zone.newest(kind)}")
        assert "In service now: predictor:e0:0" in event


def test_after_a_rejection_the_page_names_the_model_that_stayed(tmp_path):
    zone = Zone(tmp_path, SETTINGS)
    candidate = zone.candidate
    zone.decide(candidate, "reject")
    assert zone.in_service() == "predictor:e0:0"
    assert "awaits approval" not in zone.words("/entities/e0")
    event = zone.words(f"/entities/e0/events/{zone.newest('awaiting')}")
    assert "In service now: predictor:e0:0" in event
    zone.web.close()
