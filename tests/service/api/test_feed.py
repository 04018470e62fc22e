"""Listeners hear what changed and what was recorded, in order, and none of it twice."""

import asyncio
import threading

import pytest
from tests.service.running import PATIENCE

from clearwatt.service.api import feed as feeds
from clearwatt.service.api.feed import Feed
from clearwatt.service.records import ServiceEvent
from clearwatt.service.store import open_store


@pytest.fixture
def store(tmp_path):
    opened = open_store(tmp_path / "clearwatt.db")
    yield opened
    opened.close()


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(feeds, "POLL", 0.02)
    monkeypatch.setattr(feeds, "GATHER", 0.0)


def record(store, *keys):
    for key in keys:
        store.add_event(ServiceEvent(key, "update", f"this is {key}", at=1_717_000_000.0))


async def listening(feed, after=None):
    """News of a listener whom the feed tells already what happens from now on."""
    news = feed.listen(after)
    feed.announce("north")
    assert (await anext(news)).zones == ("north",)
    return news


async def heard(news, count):
    """The keys of the next events."""
    keys = []
    async for each in news:
        keys += [event.key for event in each.events]
        if len(keys) >= count:
            return keys
    return keys


def test_listeners_receive_new_events_only(store):
    record(store, "old")

    async def scene():
        news = await listening(Feed(store))
        record(store, "a", "b")
        return await heard(news, 2)

    assert asyncio.run(scene()) == ["a", "b"]


def test_a_change_is_announced_from_another_thread(store):
    async def scene():
        feed = Feed(store)
        news = feed.listen()
        first = asyncio.ensure_future(anext(news))
        await asyncio.sleep(0.05)
        thread = threading.Thread(target=feed.announce, args=("north",))
        thread.start()
        told = await first
        thread.join()
        return told

    assert asyncio.run(scene()).zones == ("north",)


def test_who_resumes_gets_all_that_was_missed_and_nothing_twice(store, monkeypatch):
    monkeypatch.setattr(feeds, "PAGE", 2)
    record(store, *"abcde")
    known = next(event.seq for event in store.events() if event.key == "b")

    async def scene():
        news = Feed(store).listen(known)
        missed = await heard(news, 3)
        record(store, "f")
        return missed + await heard(news, 1)

    assert asyncio.run(scene()) == list("cdef")


def test_a_number_from_another_life_of_the_store_does_not_silence_the_log(store):
    async def scene():
        news = await listening(Feed(store), 10**9)
        record(store, "a")
        return await heard(news, 1)

    assert asyncio.run(scene()) == ["a"]


def test_each_heartbeat_without_news_is_empty(store, monkeypatch):
    monkeypatch.setattr(feeds, "BEAT", 0.05)
    quiet = asyncio.run(_first(Feed(store)))
    assert quiet == feeds.News()


async def _first(feed):
    return await anext(feed.listen())


def test_closing_ends_all_listening_at_once_and_for_good(store):
    async def scene():
        feed = Feed(store)
        tasks = [asyncio.create_task(heard(feed.listen(), 1)) for _ in range(3)]
        await asyncio.sleep(0.05)
        feed.close()
        async with asyncio.timeout(PATIENCE):
            ended = await asyncio.gather(*tasks)
        return ended, await heard(feed.listen(), 1)

    assert asyncio.run(scene()) == ([[], [], []], [])


def test_no_more_listen_than_may_and_those_who_leave_make_room(store):
    async def scene():
        feed = Feed(store, most=1)
        task = asyncio.create_task(heard(feed.listen(), 1))
        await asyncio.sleep(0.05)
        crowded = feed.is_full, await heard(feed.listen(), 1)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return crowded, feed.is_full

    assert asyncio.run(scene()) == ((True, []), False)


def test_a_listener_that_does_not_read_is_sent_away(store, monkeypatch):
    monkeypatch.setattr(feeds, "MOST_WAITING", 3)

    async def scene():
        feed = Feed(store)
        news, other = await listening(feed), feed.listen()
        for number in range(8):
            feed.announce(f"z{number}")
            await anext(other)  # who reads in time stays
        return [each async for each in news]

    assert asyncio.run(scene()) == []
