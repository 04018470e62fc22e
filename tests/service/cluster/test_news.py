"""News between nodes: gathered, cut to size, taken over, and found again after a failure."""

import threading

import pytest
from tests.service.processes import until

from clearwatt.service.cluster.news import News, NewsReceiver, NewsSender
from clearwatt.service.store import StoreUnavailableError, open_store
from clearwatt.service.store.channel import LONGEST


class Heard:
    """What a receiver has handed on."""

    def __init__(self):
        self.news, self.looks = [], 0

    def look(self):
        self.looks += 1


def test_news_are_the_same_after_they_were_sent():
    news = News({"north": 3}, frozenset({"south"}), frozenset({"west"}), entries=True)
    parts = [News.of(message) for message in news.messages()]
    assert any(part.entries for part in parts)
    assert {zone: at for part in parts for zone, at in part.changed.items()} == {"north": 3}
    assert {zone for part in parts for zone in part.latest} == {"south"}
    assert {zone for part in parts for zone in part.weather} == {"west"}


def test_no_message_is_longer_than_the_database_takes():
    names = [f"{number:03d}" + "x" * 97 for number in range(500)]
    messages = list(News(dict.fromkeys(names, 10**9), frozenset(names)).messages())
    assert max(len(message.encode()) for message in messages) <= LONGEST
    assert {zone for each in messages for zone in News.of(each).changed} == set(names)


def test_a_message_of_another_release_is_read_as_far_as_it_is_known():
    assert News.of('{"changed": {"north": 1}, "colour": "red"}') == News({"north": 1})


def test_news_reach_another_node_and_the_first_connection_looks_at_everything(postgres):
    store, other = open_store(postgres), open_store(postgres)
    heard = Heard()
    receiver = NewsReceiver(other.open_channel(), take=heard.news.append, look=heard.look)
    try:
        with receiver, NewsSender(store.send) as sender:
            until(lambda: heard.looks)
            sender.add_change("north", 4)
            sender.add_weather("south")
            sender.add_entries()
            until(lambda: any(each.changed == {"north": 4} for each in heard.news))
            until(lambda: any(each.weather == {"south"} for each in heard.news))
            until(lambda: any(each.entries for each in heard.news))
    finally:
        store.close()
        other.close()


def test_news_of_another_schema_are_not_heard(new_postgres):
    stores = [open_store(new_postgres()) for _ in range(2)]
    channel = stores[0].open_channel()
    try:
        assert channel.receive(0.0) == []
        stores[1].send("for others")
        stores[0].send("for us")
        assert channel.receive(60.0) == ["for us"]
    finally:
        channel.close()
        for store in stores:
            store.close()


class Broken:
    """A channel that fails once; what was sent meanwhile is lost."""

    def __init__(self):
        self.is_open, self.failures = False, 1

    def receive(self, seconds):
        if self.is_open and self.failures:
            self.failures -= 1
            raise StoreUnavailableError("the connection is lost")
        was_open, self.is_open = self.is_open, True
        return ["no JSON", '{"changed": {"north": 1}}'] if was_open and not self.failures else []

    def close(self):
        self.is_open = False


def test_after_a_failure_everything_is_looked_at_and_unreadable_messages_are_skipped(caplog):
    heard, enough = Heard(), threading.Event()

    def take(news):
        heard.news.append(news)
        enough.set()

    with NewsReceiver(Broken(), take=take, look=heard.look):
        assert enough.wait(60)
    assert heard.looks >= 2
    assert heard.news[0].changed == {"north": 1}
    assert "news not received" in caplog.text
    assert "news not taken in" in caplog.text


@pytest.mark.parametrize("word", ["changed", "latest", "weather"])
def test_a_message_names_only_what_has_changed(word):
    value = {"north": 1} if word == "changed" else frozenset({"north"})
    (message,) = News(**{word: value}).messages()
    assert word in message and message.count("north") == 1
