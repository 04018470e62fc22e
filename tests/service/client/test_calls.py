"""The client against servers that answer as a service in trouble does, and against the real app."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from clearwatt.errors import ClearwattError, ConfigurationError, DataError
from clearwatt.service.client import Client, Series, ServiceError, ServiceUnreachableError, stamp

GOOD = (200, {}, {"zones": []})
RECEIPT = (200, {}, {"new": 1, "duplicates": 0, "corrections": 0, "rejected": []})


def refusal(status: int, **headers: str) -> tuple[int, dict[str, str], object]:
    error = {"code": "busy", "message": f"come back later ({status})", "details": ["why"]}
    return status, headers, {"error": error}


class Server:
    """Answers one thing after the other, and remembers what it was asked."""

    def __init__(self, *answers: tuple[int, dict[str, str], object]) -> None:
        self.answers, self.asked = list(answers), []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                length = int(self.headers.get("Content-Length", 0))
                body = json.loads(self.rfile.read(length)) if length else None
                outer.asked.append((self.command, self.path, dict(self.headers), body))
                status, headers, content = outer.answers.pop(0)
                data = content if isinstance(content, bytes) else json.dumps(content).encode()
                self.send_response(status)
                for name, value in {**headers, "Content-Length": str(len(data))}.items():
                    self.send_header(name.replace("_", "-"), value)
                self.end_headers()
                self.wfile.write(data)

            def do_POST(self) -> None:
                self.do_GET()

            def log_message(self, *_: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}"


@contextmanager
def serving(*answers: tuple[int, dict[str, str], object]) -> Iterator[Server]:
    server = Server(*answers)
    thread = threading.Thread(target=server.http.serve_forever)
    thread.start()
    try:
        yield server
    finally:
        server.http.shutdown()
        thread.join()
        server.http.server_close()


@pytest.mark.parametrize("status", [429, 503, 507])
def test_what_may_pass_is_tried_again_as_the_service_asks(status):
    waits: list[tuple[str, float]] = []
    with serving(refusal(status, Retry_After="0.3"), refusal(status), GOOD) as server:
        with Client(server.url, on_retry=lambda e, s: waits.append((str(e), s))) as client:
            assert client.zones().zones == []
        assert len(server.asked) == 3
    assert waits[0] == (f"come back later ({status})", 0.3)
    assert waits[1][1] == pytest.approx(0.4)


def test_readings_are_sent_again_unchanged():
    readings = Series("park", ["2024-05-01T12:15:00Z"], [float("nan")])
    with serving(refusal(503), RECEIPT) as server:
        with Client(server.url, "cw_abc_def") as client:
            assert client.send_measurements([readings]).new == 1
        (first, second) = server.asked
    assert first[3] == second[3]
    assert first[3]["series"] == [
        {"entity": "park", "times": ["2024-05-01T12:15:00Z"], "values": [None]}
    ]
    assert first[2]["Authorization"] == "Bearer cw_abc_def"


def test_patience_ends():
    with serving(*[refusal(503)] * 20) as server:
        with Client(server.url, patience=2.0) as client, pytest.raises(ServiceError) as caught:
            client.zones()
        assert 1 < len(server.asked) < 5
    assert (caught.value.status, caught.value.code, caught.value.details) == (503, "busy", ["why"])


def test_a_refusal_has_the_message_of_the_service_and_is_not_retried():
    with serving(refusal(422)) as server:
        with Client(server.url) as client, pytest.raises(ServiceError, match="come back later"):
            client.zone("north")
        assert len(server.asked) == 1


@pytest.mark.parametrize("content", [b"<html>", b"[1]"])
def test_something_else_at_the_address(content):
    with (
        serving((200, {}, content)) as server,
        Client(server.url) as client,
        pytest.raises(ServiceError, match="is it a ClearWatt service"),
    ):
        client.zones()


def test_nobody_there():
    with (
        serving() as server,
        Client(server.url.replace("127.0.0.1", "127.0.0.2"), patience=0) as client,
        pytest.raises(ServiceUnreachableError, match="clearwatt serve"),
    ):
        client.zones()


def test_names_are_one_part_of_the_path():
    accepted = {"command": 3, "zone": "a", "entity": None, "kind": "hold", "event": "command:a:3"}
    with serving((202, {}, accepted)) as server:
        with Client(server.url) as client:
            assert client.hold(zone="a/../b c?").command == 3
        assert server.asked[0][:2] == ("POST", "/v1/zones/a%2F..%2Fb%20c%3F/hold")


@pytest.mark.parametrize("url", ["127.0.0.1:8000", "ftp://x", "", "http://[::"])
def test_addresses_that_are_none(url):
    with pytest.raises(ConfigurationError, match="address"):
        Client(url)


def test_times_and_values_that_cannot_be_sent():
    assert stamp(datetime(2024, 5, 1, 12, tzinfo=UTC)) == "2024-05-01T12:00:00Z"
    with pytest.raises(DataError, match="time zone"):
        stamp(datetime(2024, 5, 1, 12))
    with Client("http://127.0.0.1:9") as client:
        with pytest.raises(DataError, match="infinite"):
            client.send_measurements([Series("a", ["2024-05-01T12:15:00Z"], [float("inf")])])
        with pytest.raises(ClearwattError, match="either an entity or a zone"):
            client.hold()
