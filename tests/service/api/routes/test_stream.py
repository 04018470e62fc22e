"""News over HTTP, as a browser hears them."""

import json
from contextlib import contextmanager

import httpx
import pytest
from tests.service.application import listening

from clearwatt.service.api import feed as feeds
from clearwatt.service.api.feed import Feed
from clearwatt.service.api.security.auth import create_token
from clearwatt.service.records import ServiceEvent


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(feeds, "POLL", 0.02)
    monkeypatch.setattr(feeds, "GATHER", 0.0)


def feed_of(web) -> Feed:
    feed: Feed = web.app.state.context.feed
    return feed


@contextmanager
def hearing(web, headers=None, **query):
    """The messages of a stream as (name, data, id), one after the other."""
    with (
        listening(web) as url,
        httpx.stream(
            "GET", f"{url}/v1/stream", params=query, headers=headers, timeout=60
        ) as answer,
    ):
        assert answer.status_code == 200, answer.read()
        assert answer.headers["content-type"].startswith("text/event-stream")
        try:
            yield messages(answer.iter_lines())
        finally:
            feed_of(web).close()


def messages(lines):
    fields: dict[str, str] = {}
    for line in lines:
        if line:
            name, _, value = line.partition(": ")
            fields[name] = value
        else:
            yield fields["event"], json.loads(fields["data"]), fields.get("id")
            fields = {}


def record(web, key):
    web.store.add_event(
        ServiceEvent(key, "update", "<b>\nbold</b>", at=1_717_000_000.0, entity="e1")
    )


def test_changes_and_events_arrive_as_they_happen(web):
    with hearing(web) as told:
        assert next(told) == ("beat", {}, None)
        feed_of(web).announce("north")
        record(web, "a")
        news = (each for each in told if each[0] != "beat")  # one comes where nothing is quick
        both = {name: (data, number) for name, data, number in (next(news), next(news))}
    (event,) = web.get("/v1/events")["events"]
    assert both == {"change": ({"zone": "north"}, None), "log": (event, str(event["seq"]))}


@pytest.mark.parametrize("how", ["header", "query"])
def test_a_listener_that_was_cut_off_hears_what_it_missed(web, how):
    for key in "abc":
        record(web, key)
    known = web.get("/v1/events")["events"][-1]["seq"]
    headers = {"Last-Event-ID": str(known)} if how == "header" else None
    query = {} if how == "header" else {"after": known}
    with hearing(web, headers, **query) as told:
        next(told)
        assert [next(told)[1]["key"] for _ in range(2)] == ["b", "c"]


def test_a_stream_ends_with_the_token_that_opened_it(web, monkeypatch):
    monkeypatch.setattr(feeds, "BEAT", 0.05)
    monkeypatch.setattr("clearwatt.service.api.security.auth.REFRESH", 0.05)
    made = create_token("guest", "read")
    web.store.add_token(made.token)
    with hearing(web, {"Authorization": f"Bearer {made.text}"}) as told:
        next(told)
        assert next(told)[0] == "beat"
        web.store.remove_token(made.token.id)
        assert all(name == "beat" for name, _, _ in told)


def test_a_stream_without_a_token_ends_when_the_first_one_is_made(web, monkeypatch):
    monkeypatch.setattr(feeds, "BEAT", 0.05)
    monkeypatch.setattr("clearwatt.service.api.security.auth.REFRESH", 0.05)
    with hearing(web) as told:
        next(told)
        web.store.add_token(create_token("first", "read").token)
        assert all(name == "beat" for name, _, _ in told)


def test_a_stream_needs_a_token_like_everything_else(web):
    web.store.add_token(create_token("someone", "read").token)
    web.refused(401, "GET", "/v1/stream")


def test_a_full_house_says_when_to_come_again(web):
    feed_of(web).close()
    answer = web.ask("GET", "/v1/stream")
    assert answer.status_code == 503
    assert int(answer.headers["retry-after"]) > 0


def test_a_server_that_stops_does_not_wait_for_listeners(web):
    with hearing(web) as told:
        next(told)
        feed_of(web).close()
        assert list(told) == []
