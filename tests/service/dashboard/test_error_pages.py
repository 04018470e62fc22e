"""Errors: pages for people, JSON for programs."""

import pytest
from tests.service.application import Web

from clearwatt.service.config import ServiceConfig
from clearwatt.service.store import StoreUnavailableError

HTML = {"Accept": "text/html,application/xhtml+xml"}


@pytest.fixture
def web(tmp_path):
    made = Web(tmp_path, ServiceConfig(rate=0.01, burst=4))
    yield made
    made.close()


def test_a_page_that_is_not_there_says_so(web):
    answer = web.ask("GET", "/nowhere", headers=HTML)
    assert answer.status_code == 404
    assert answer.headers["content-type"].startswith("text/html")
    assert "script-src 'self'" in answer.headers["content-security-policy"]
    assert "<h1>Page not found</h1>" in answer.text
    assert web.ask("GET", "/nowhere").json()["error"]["code"] == "not_found"


def test_what_an_address_says_stays_text(web):
    answer = web.ask("GET", "/?kind=<script>alert(1)</script>", headers=HTML)
    assert answer.status_code == 422
    assert "&lt;script&gt;" in answer.text
    assert "<script>" not in answer.text


def test_a_caller_above_the_rate_limit_gets_a_retry_time(web):
    answers = [web.ask("GET", "/health", headers=HTML) for _ in range(6)]
    assert answers[-1].status_code == 429
    assert int(answers[-1].headers["retry-after"]) > 0
    assert "Too many requests" in answers[-1].text


def test_a_store_that_is_away_from_the_start_gives_a_page_too(web, monkeypatch):
    def away():
        raise StoreUnavailableError("the database <b>does not</b> answer")

    monkeypatch.setattr(web.store, "tokens", away)
    answer = web.ask("GET", "/", headers=HTML)
    assert answer.status_code == 503
    assert "the database &lt;b&gt;does not&lt;/b&gt; answer" in answer.text
