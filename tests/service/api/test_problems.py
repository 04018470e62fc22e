"""Errors say what is wrong and what to do, and nothing about the inside."""

import json
import logging

import pytest

from clearwatt.errors import ClearwattError, ConfigurationError, DataError, StateError
from clearwatt.service.api.problems import status_of
from clearwatt.service.registry import UnknownIdError
from clearwatt.service.store import (
    ConflictError,
    StoreDamagedError,
    StoreFullError,
    StoreUnavailableError,
)


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        (UnknownIdError, 404),
        (ConflictError, 409),
        (DataError, 422),
        (ConfigurationError, 422),
        (StoreFullError, 507),
        (StoreUnavailableError, 503),
        (StoreDamagedError, 503),
        (StateError, 500),
        (ClearwattError, 500),
    ],
)
def test_the_status_follows_from_the_kind_of_error(kind, status):
    assert status_of(kind("x")) == status


def test_what_nobody_foresaw_is_a_500_with_a_reference_and_no_secret(web, monkeypatch, caplog):
    def broken(*_):
        raise RuntimeError("password=hunter2")

    monkeypatch.setattr(web.store, "statuses", broken)
    with caplog.at_level(logging.ERROR):
        message = web.refused(500, "GET", "/v1/zones")
    (record,) = caplog.records
    assert message.endswith(record.reference)
    assert record.error == "RuntimeError"
    assert any(place.endswith("list_zones") for place in record.at)
    assert "hunter2" not in message + str(record.__dict__)
    assert record.exc_info is None


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"{", "application/json"),
        (b'{"id": "a"', "application/json"),
        (b"\xff\xfe", "application/json"),
        (b"[" * 100_000, "application/json"),
        (b"9" * 5000, "application/json"),
        (b'{"id": "a"}', "text/plain"),
        (b'{"id": "a"}', "application/x-www-form-urlencoded"),
    ],
)
def test_bodies_that_are_not_json_are_refused(web, content, kind):
    answer = web.ask("POST", "/v1/zones", content=content, headers={"Content-Type": kind})
    assert answer.status_code in (400, 422)
    assert answer.json()["error"]["message"]


def test_addresses_and_methods_that_do_not_exist(web):
    assert "/openapi.json" in web.refused(404, "GET", "/v1/nothing")
    answer = web.ask("DELETE", "/v1/zones")
    assert answer.status_code == 405
    assert answer.headers["allow"] == "GET, POST"


def test_long_and_broken_text_is_not_sent_back_whole(web):
    content = json.dumps({"id": "x" * 10_000 + "\ud800", "step": 900})
    kind = {"Content-Type": "application/json"}
    answer = web.ask("POST", "/v1/zones", content=content, headers=kind)
    assert answer.status_code == 422
    assert len(answer.content) < 2000


def test_what_an_id_may_consist_of_is_said_in_words(web):
    new = {"id": "Zähler", "step": 900, "variables": ["wind"]}
    for message in (
        web.refused(422, "POST", "/v1/zones", json=new),
        web.refused(422, "GET", "/v1/entities/Z%C3%A4hler"),
        web.refused(422, "GET", "/v1/forecasts", params={"entity": "a/b"}),
    ):
        assert "letters from a to z, digits, spaces, dots, hyphens and underscores" in message
        assert "{0,99}" not in message
    assert "predictor:park-7:3" in web.refused(422, "GET", "/v1/models/newest")


def test_an_unescaped_plus_is_explained(web):
    web.register("a")
    message = web.refused(422, "GET", "/v1/forecasts?entity=a&start=2024-06-01T00:00:00+02:00")
    assert "write it as %2B (2024-06-01T00:00:00%2B02:00)" in message


def test_a_store_that_is_away_says_when_to_come_back(web, monkeypatch):
    def away(*_):
        raise StoreUnavailableError("the database does not answer; is it running?")

    web.get("/v1/zones")
    monkeypatch.setattr(web.store, "statuses", away)
    answer = web.ask("GET", "/v1/zones")
    assert answer.status_code == 503
    assert int(answer.headers["retry-after"]) > 0


def test_a_long_name_of_a_field_is_not_repeated(web):
    name = "x" * 1_000_000
    answer = web.ask("POST", "/v1/zones", json={"id": "a", "step": 900, "variables": [], name: 1})
    assert answer.status_code == 422
    assert len(answer.content) < 2000
