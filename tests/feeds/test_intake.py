"""Messages between broker and spool: stored before they are acknowledged, and once."""

import sqlite3
from contextlib import closing

import pytest
from tests.service.processes import until

from clearwatt.feeds.intake import Connected, Intake
from clearwatt.feeds.spool import Arrival, Message, Spool
from clearwatt.feeds.stopping import StopRequest

TOPICS = ["site/+/power"]


def arrival(packet: int, payload: bytes = b"1", *, arrived: float = 0.0, repeated: bool = False):
    return Arrival(Message("site/park/power", payload, arrived), packet, repeated)


class Running:
    """An intake whose acknowledgements are (packet, connection, messages in the spool)."""

    def __init__(self, spool: Spool, limit: int) -> None:
        self.spool, self.stop, self.acknowledged = spool, StopRequest(), []
        self.notices: list[str] = []
        self.intake = Intake(
            spool,
            acknowledge=lambda *what: self.acknowledged.append((*what, spool.count())),
            stop=self.stop,
            notify=self.notices.append,
            limit=limit,
        )

    def take(self, *items: Arrival | Connected) -> None:
        """Hand items over, and wait until all messages among them are acknowledged."""
        wanted = len(self.acknowledged) + sum(isinstance(item, Arrival) for item in items)
        for item in items:
            self.intake.put(item)
        until(lambda: len(self.acknowledged) == wanted)


@pytest.fixture
def running(tmp_path):
    with closing(Spool(tmp_path / "spool.db")) as spool:
        made = Running(spool, limit=6)
        made.intake.start()
        yield made
        made.stop.set()
        made.intake.join()


def test_a_message_is_on_disk_before_it_is_acknowledged(running, tmp_path):
    running.take(Connected(TOPICS, False), arrival(1), arrival(2, b"2"))
    assert [(packet, connection) for packet, connection, _ in running.acknowledged] == [
        (1, 1),
        (2, 1),
    ]
    assert all(stored >= packet for packet, _, stored in running.acknowledged)
    with closing(Spool(tmp_path / "spool.db")) as after_a_kill:
        assert [message.payload for message in after_a_kill.first(10)] == [b"1", b"2"]


def test_a_message_that_cannot_be_stored_is_not_acknowledged(running, tmp_path):
    running.take(Connected(TOPICS, False), arrival(1))
    with closing(sqlite3.connect(tmp_path / "spool.db")) as other:
        other.execute(
            "CREATE TRIGGER full BEFORE INSERT ON messages BEGIN SELECT RAISE(ABORT, 'full'); END"
        )
        other.commit()
        running.intake.put(arrival(2))
        until(lambda: running.notices)
        assert [packet for packet, *_ in running.acknowledged] == [1]
        other.execute("DROP TRIGGER full")
        other.commit()
    until(lambda: len(running.acknowledged) == 2)


def test_a_repeated_message_is_acknowledged_again_and_keeps_its_first_arrival(running):
    running.take(Connected(TOPICS, False), arrival(1, arrived=5.0))
    running.take(Connected(TOPICS, True), arrival(1, arrived=9.0, repeated=True))
    assert [message.arrived for message in running.spool.first(10)] == [5.0]
    assert [connection for _, connection, _ in running.acknowledged] == [1, 2]
    assert (running.intake.received, running.intake.repeated) == (1, 1)


def test_the_same_number_with_other_content_or_in_a_new_session_is_another_message(running):
    running.take(Connected(TOPICS, False), arrival(1))
    running.take(arrival(1, b"2", repeated=True))
    running.take(Connected(TOPICS, False), arrival(1, b"2", repeated=True))
    assert running.spool.count() == 3


def test_a_full_spool_leaves_messages_with_the_broker(running):
    running.take(Connected(TOPICS, False), *(arrival(packet) for packet in range(1, 7)))
    running.intake.put(arrival(7))
    until(lambda: running.notices)
    assert running.spool.count() == 6
    assert len(running.acknowledged) == 6
    running.spool.remove_through(6)
    until(lambda: len(running.acknowledged) == 7)
