"""The MQTT feed with a real broker and a real service over HTTP."""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import threading
import time
from contextlib import closing

import pytest
from tests.service.application import NOW, STEP
from tests.service.processes import until

from clearwatt.cli import main
from clearwatt.errors import ConfigurationError
from clearwatt.feeds.averages import Sample, StepAverages
from clearwatt.feeds.broker import BrokerError
from clearwatt.feeds.spool import Spool
from clearwatt.service.times import text

from .brokers import Mosquitto, Publisher
from .feed_thread import FeedThread
from .stored import stored

TOPIC = ("--topic", "site/{entity}/power")


def at(step: int) -> str:
    return text(NOW + STEP * step)


def waiting(state) -> int:
    with closing(Spool(state / "spool.db")) as spool:
        return spool.count()


def letters(state, capsys):
    capsys.readouterr()
    assert main(["feed", "dead-letters", "--state", str(state), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_every_kind_of_payload_is_stored_and_the_rest_is_readable(line, capsys):
    with line.feed(*TOPIC, "--unit", "MW") as feed:
        until(feed.receives)
        line.publisher.send_and_wait(
            ("site/park/power", {"time": at(0), "value": 1.5}),
            ("site/x/power", {"entity": "park", "time": NOW + STEP, "value": "2"}),
            ("site/mill/power", [{"time": at(step), "value": step} for step in range(3)]),
            ("site/mill/power", {"readings": [{"time": at(3), "value": None}]}),
            ("site/mill/power", {"time": at(4), "value": 7.0, "unit": "kWh"}),
            ("site/tower/power", {"time": at(0), "value": 3}),
            ("site/park/power", "21,5"),
            ("site/park/power", [{"time": at(5), "value": 5}, {"time": "yesterday", "value": 6}]),
            ("site/park/power", {"time": text(NOW + 1), "value": 8}),
        )
        until(lambda: feed.counts.dead_letters == 4)
        line.web.post(
            "/v1/entities", {"entities": [{"id": "tower", "zone": "north", "kind": "generator"}]}
        )
        (unknown,) = (each for each in letters(line.state, capsys) if "tower" in each["topic"])
        again = ["--state", str(line.state), "--send", unknown["id"]]
        assert main(["feed", "dead-letters", *again]) == 0
        assert "1 queued; the feed sends them now" in capsys.readouterr().out
        until(lambda: stored(line.web, "tower") == [(0, 3000.0)])
    assert stored(line.web) == [(0, 1500.0), (1, 2000.0), (5, 5000.0)]
    assert stored(line.web, "mill")[:3] == [(0, 0.0), (1, 1000.0), (2, 2000.0)]
    assert stored(line.web, "mill")[4] == (4, 28.0)
    counts = {"received": 9, "new": 9, "duplicates": 0, "dead_letters": 4}
    assert counts.items() <= vars(feed.counts).items()
    reasons = {each["payload"]: each["reason"] for each in letters(line.state, capsys)}
    assert "neither JSON nor a number" in reasons["21,5"]
    assert "RFC 3339" in reasons['{"time": "yesterday", "value": 6}']
    assert len(reasons) == 3
    assert any("zone's clock of 900 s" in reason for reason in reasons.values())


def test_a_strange_message_is_given_up_and_the_next_one_is_stored(line, capsys):
    strange = [
        ("grid/north/park", {"time": 1e300, "value": 1}),
        ("grid/north/park", {"time": 10**400, "value": 1}),
        ("grid/north/park", {"time": "0001-01-01T00:00:00", "value": 1}),
        ("grid/north/park", {"time": at(0), "value": 1e305, "unit": "GW"}),
        ("grid/north/park", [{"entity": "\ud800", "time": at(0), "value": 1}]),
        ("grid/north/park", '{"entity": "a\u2028b\u0085c", "time": 0, "value": 1}'),
        ("grid//park", {"time": at(0), "value": 1}),
        ("grid/./park", {"time": at(0), "value": 1}),
        ("grid/../park", {"time": at(0), "value": 1}),
    ]
    options = ("--topic", "grid/{zone}/{entity}", "--timezone", "Europe/Berlin")
    with line.feed(*options) as feed:
        until(feed.receives)
        for message in [*strange, ("grid/north/park", {"time": at(0), "value": 1})]:
            line.publisher.send_and_wait(message)
        until(lambda: stored(line.web) == [(0, 1.0)] or feed.ended())
        until(lambda: feed.counts.waiting == 0 or feed.ended())
    assert len(letters(line.state, capsys)) == len(strange)


def test_a_feed_waits_while_nothing_can_be_removed_from_the_spool(line):
    with line.feed(*TOPIC) as feed:
        until(feed.receives)
        with closing(sqlite3.connect(line.state / "spool.db")) as other:
            other.execute(
                "CREATE TRIGGER full BEFORE DELETE ON messages BEGIN SELECT RAISE(ABORT, 'full'); "
                "END"
            )
            other.commit()
            line.publisher.send_and_wait(("site/park/power", {"time": at(0), "value": 1}))
            until(lambda: any("full" in each for each in feed.notices) or feed.ended())
            other.execute("DROP TRIGGER full")
            other.commit()
        until(lambda: waiting(line.state) == 0 or feed.ended())
    assert (feed.counts.new, feed.counts.duplicates) == (1, 0)


def test_sigterm_ends_a_feed_in_order_with_its_counts(line, capsys):
    def publish_then_stop() -> None:
        until(lambda: "as clearwatt-" in line.broker.log())
        while not stored(line.web):  # the subscription follows the connection
            line.publisher.send_and_wait(("site/park/power", {"time": at(0), "value": 1}))
        os.kill(os.getpid(), signal.SIGTERM)

    thread = threading.Thread(target=publish_then_stop)
    thread.start()
    options = ["--broker", line.broker.address, "--url", line.url, "--state", str(line.state)]
    assert main(["feed", "mqtt", *options, *TOPIC, "--zone", "north", "--json"]) == 0
    thread.join()
    *_, last = capsys.readouterr().out.splitlines()
    counts = json.loads(last)
    assert (counts["new"], counts["corrections"], counts["dead_letters"]) == (1, 0, 0)
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_nothing_is_lost_while_service_feed_and_broker_are_away(line):
    readings = [("site/park/power", {"time": at(step), "value": step}) for step in range(40)]
    with line.feed(*TOPIC) as feed:
        until(feed.receives)
        line.publisher.send_and_wait(*readings[:10])
        until(lambda: len(stored(line.web)) == 10)
    line.publisher.send_and_wait(*readings[10:20])
    line.broker.stop()  # the feed is away, and the broker keeps its messages
    line.broker.start()
    away = FeedThread(line.state, line.broker.address, "http://127.0.0.1:9", *TOPIC)
    with away as feed:
        until(feed.receives)
        line.publisher.send_and_wait(*readings[20:30], readings[0])
        until(lambda: waiting(line.state) == 21)
    with line.feed(*TOPIC) as feed:
        until(feed.receives)
        line.broker.stop()
        line.broker.start()
        line.publisher.send_and_wait(*readings[30:])
        until(lambda: len(stored(line.web)) == 40)
    assert stored(line.web) == [(step, float(step)) for step in range(40)]
    assert (feed.counts.new, feed.counts.duplicates, feed.counts.corrections) == (30, 1, 0)
    assert feed.counts.waiting == feed.counts.dead_letters == 0


def test_plain_numbers_get_the_time_of_their_arrival_and_old_ones_are_left(line, capsys):
    line.web.now = time.time()
    line.publisher.retain("site/mill/power", "99")
    with line.feed(*TOPIC, "--time", "arrival", "--interval", "end") as feed:
        until(feed.receives)
        line.publisher.send_and_wait(("site/park/power", "12.5"), ("site/park/power", b"\xff"))
        until(lambda: stored(line.web))
        until(lambda: feed.counts.waiting == 0)
    ((step, value),) = stored(line.web)
    assert value == 12.5
    assert NOW + STEP * (step + 1) <= time.time() < NOW + STEP * (step + 3)
    assert stored(line.web, "mill") == []
    (letter,) = letters(line.state, capsys)
    assert letter["payload_base64"] == "/w=="


def test_a_feed_without_arrival_times_gives_plain_numbers_up(line, capsys):
    with line.feed(*TOPIC) as feed:
        until(feed.receives)
        line.publisher.send_and_wait(("site/park/power", "12.5"))
        until(lambda: feed.counts.dead_letters)
    (letter,) = letters(line.state, capsys)
    assert "--time arrival" in letter["reason"]
    assert main(["feed", "dead-letters", "--state", str(line.state)]) == 0
    assert "12.5" in capsys.readouterr().out
    assert main(["feed", "dead-letters", "--state", str(line.state), "--delete", letter["id"]]) == 0
    assert letters(line.state, capsys) == []


def test_readings_within_a_step_are_averaged_once_it_has_ended(line, capsys):
    line.web.now = time.time()
    step = int(line.web.now - NOW) // STEP - 2
    first, options = NOW + STEP * step, (*TOPIC, "--average", "--unit", "W")
    with line.feed(*options) as feed:
        until(feed.receives)
        line.publisher.send_and_wait(
            *[
                ("site/park/power", {"time": first + 10 * number, "value": 1000 * number})
                for number in (1, 2, 6)
            ],
            ("site/park/power", {"time": first + 3 * STEP, "value": 1}),
            ("site/park/power", {"time": first - 3 * 86400, "value": 1}),
        )
        until(lambda: stored(line.web) == [(step, 3.0)])
        until(lambda: feed.counts.dead_letters == 1)
    with line.feed(*options) as feed:  # a late reading, after a restart
        until(feed.receives)
        line.publisher.send_and_wait(("site/park/power", {"time": first + 1, "value": 7000}))
        until(lambda: stored(line.web) == [(step, 4.0)])
    assert (feed.counts.new, feed.counts.corrections) == (0, 1)
    (letter,) = letters(line.state, capsys)
    assert "too late for an average" in letter["reason"]


def test_the_average_of_a_deleted_entity_is_given_up_with_its_unit_and_the_feed_goes_on(
    line, capsys
):
    """The feed was away when the step ended, and does not know the entity from before."""
    line.web.now = time.time()
    step = int(line.web.now - NOW) // STEP - 2
    first = NOW + STEP * step
    line.state.mkdir()
    with closing(Spool(line.state / "spool.db")) as spool:
        sample = Sample("park", first, STEP, 5.5, "site/park/power", "kW")
        StepAverages(spool).add([sample], through=0)
    assert line.web.ask("DELETE", "/v1/entities/park").status_code < 300
    with line.feed(*TOPIC, "--average", "--unit", "W") as feed:
        until(lambda: feed.counts.dead_letters == 1 or feed.ended())
        until(feed.receives)
        line.publisher.send_and_wait(("site/mill/power", {"time": first, "value": 7000}))
        until(lambda: stored(line.web, "mill") == [(step, 7.0)] or feed.ended())
    (letter,) = letters(line.state, capsys)
    assert json.loads(letter["payload"]) == {
        "entity": "park", "time": text(first), "value": 5.5, "unit": "kW",
    }  # fmt: skip


def test_a_spool_of_an_earlier_version_has_averages_without_unit(tmp_path):
    with closing(Spool(tmp_path / "spool.db")) as spool:
        with spool.transaction() as database:
            database.execute(
                "CREATE TABLE averages (entity TEXT NOT NULL, time INTEGER NOT NULL, due REAL NOT "
                "NULL, topic TEXT NOT NULL, total REAL NOT NULL, count INTEGER NOT NULL, changed "
                "INTEGER NOT NULL, PRIMARY KEY (entity, time)) WITHOUT ROWID"
            )
            database.execute("INSERT INTO averages VALUES ('park', 0, 930, 't', 6.0, 2, 1)")
        averages = StepAverages(spool)
        averages.add([Sample("mill", 0, STEP, 1.0, "t", "MW")], through=0)
        found = [(each.entity, each.value, each.unit) for each in averages.due(1e9, 9)]
    assert found == [("mill", 1.0, "MW"), ("park", 3.0, None)]


def test_another_topic_replaces_the_one_of_the_session(line):
    with line.feed("--topic", "old/{entity}") as feed:
        until(feed.receives)
    with line.feed(*TOPIC, "--protocol", "5") as feed:
        until(feed.receives)
        line.publisher.send_and_wait(
            ("old/park", {"time": at(0), "value": 1}),
            ("site/park/power", {"time": at(1), "value": 2}),
        )
        until(lambda: stored(line.web))
    assert stored(line.web) == [(1, 2.0)]
    assert feed.counts.received == 1


def test_a_zone_that_the_service_does_not_have_ends_the_feed(line):
    with (
        pytest.raises(ConfigurationError, match="zone 'nroth' is not registered"),
        line.feed(*TOPIC, "--zone", "nroth") as feed,
    ):
        until(feed.ended)


def test_a_second_feed_with_the_same_state_is_refused(line, capsys):
    with line.feed(*TOPIC) as feed:
        until(feed.receives)
        options = ["--broker", line.broker.address, "--state", str(line.state), "--zone", "north"]
        assert main(["feed", "mqtt", *options, *TOPIC]) == 2
    assert "another feed is at work" in capsys.readouterr().err


@pytest.fixture
def guarded(mosquitto, tmp_path):
    """A broker with a password, and TLS with a certificate of its own authority."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl, which makes the certificate, is not installed")
    folder = tmp_path / "guarded"
    folder.mkdir()
    key, certificate, passwords = (folder / name for name in ("key.pem", "cert.pem", "passwords"))
    subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    subprocess.run(
        [
            "openssl",
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
            "-nodes",
            "-keyout",
            key,
            "-out",
            certificate,
            "-days",
            "2",
            *subject,
        ],
        check=True,
        capture_output=True,
    )
    subprocess.run(["mosquitto_passwd", "-c", "-b", passwords, "meter", "s3cret"], check=True)
    made = Mosquitto(
        mosquitto,
        folder,
        "allow_anonymous false",
        f"password_file {passwords}",
        f"certfile {certificate}",
        f"keyfile {key}",
    )
    made.start()
    yield made, certificate
    made.stop()


# paho leaves the socket of a failed handshake to the garbage collector.
@pytest.mark.filterwarnings("ignore:.*SSLSocket:pytest.PytestUnraisableExceptionWarning")
def test_user_password_and_certificate_are_checked(guarded, web, url, tmp_path, monkeypatch):
    broker, certificate = guarded
    state, secure = tmp_path / "state", (*TOPIC, "--ca-file", str(certificate))
    monkeypatch.setenv("CLEARWATT_MQTT_USER", "meter")
    password = tmp_path / "password"
    password.write_text("wrong\n")
    login = ("--password-file", str(password))
    with (
        pytest.raises(BrokerError, match="refuses the connection"),
        FeedThread(state, broker.address, url, *secure, *login) as feed,
    ):
        until(feed.receives)
    with (
        pytest.raises(BrokerError, match="--ca-file"),
        FeedThread(state, broker.address, url, *TOPIC, "--tls") as feed,
    ):
        until(feed.receives)
    password.write_text("s3cret\n")
    publisher = Publisher(broker, user="meter", password="s3cret", authority=str(certificate))
    with FeedThread(state, broker.address, url, *secure, *login) as feed:
        until(feed.receives)
        publisher.send_and_wait(("site/park/power", {"time": at(0), "value": 4}))
        until(lambda: stored(web) == [(0, 4.0)])
    publisher.close()
    assert not any("s3cret" in notice for notice in feed.notices)


def test_the_older_protocol_keeps_its_session_too(line):
    options = (*TOPIC, "--protocol", "3.1.1")
    with line.feed(*options) as feed:
        until(feed.receives)
    line.publisher.send_and_wait(("site/park/power", {"time": at(0), "value": 1}))
    with line.feed(*options):
        until(lambda: stored(line.web) == [(0, 1.0)])


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--broker", "mqtt://me:hidden@host", *TOPIC], "CLEARWATT_MQTT_PASSWORD"),
        (["--broker", "host:99999", *TOPIC], "host:99999"),
        (["--broker", "host"], "--topic is missing"),
        (["--broker", "host", "--topic", "a/{meter}"], "{meter}"),
        (["--broker", "host", "--topic", "a/#/b"], "a/#/b"),
        (["--broker", "host", *TOPIC, "--timezone", "Mars"], "Mars"),
        (["--broker", "host", *TOPIC, "--average", "--unit", "kWh"], "not averaged"),
        (["--broker", "host", *TOPIC, "--average", "--interval", "end"], "exclude each other"),
        (["--broker", "host", *TOPIC, "--password-file", "missing"], "missing"),
        (["--broker", "host", *TOPIC, "--key-file", "missing"], "missing"),
    ],
)
def test_invalid_options_are_reported_in_one_sentence(options, says, tmp_path, capsys):
    state = str(tmp_path / "state")
    assert main(["feed", "mqtt", *options, "--zone", "north", "--state", state]) == 2
    error = capsys.readouterr().err
    assert says in error
    assert "hidden" not in error


def test_a_topic_without_zone_needs_one(tmp_path, capsys):
    assert main(["feed", "mqtt", "--broker", "host", *TOPIC, "--state", str(tmp_path)]) == 2
    assert "give --zone" in capsys.readouterr().err
