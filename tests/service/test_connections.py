"""Idle and slow connections are closed, and there is always room for a caller who asks."""

import resource
import socket
import threading
import time
from contextlib import ExitStack, contextmanager, suppress

import httpx
import pytest
import uvicorn
from tests.service.running import PATIENCE, running

from clearwatt.service.connections import IDLE_SECONDS, ConnectionTable, bounded_protocol

MOST = 8
IDLE = 1.5
"""Seconds that a busy machine does not let pass between a connection and its request."""


async def application(scope, receive, send):
    """Answers at once, in three parts with pauses, or when the body of the request is complete."""
    import asyncio

    await send({"type": "http.response.start", "status": 200, "headers": []})
    for _ in range(3 if scope["path"] == "/slow" else 0):
        await asyncio.sleep(2 * IDLE / 3)
        await send({"type": "http.response.body", "body": b"part", "more_body": True})
    if scope["path"] == "/held":
        await send({"type": "http.response.body", "body": b"part", "more_body": True})
        while (await receive())["more_body"]:
            pass
    await send({"type": "http.response.body", "body": b"end"})


@contextmanager
def serving(table):
    """The application behind a real socket; its port."""
    listener = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(
        application, http=bounded_protocol(table), log_config=None, lifespan="off"
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        server.should_exit = True
        thread.join()
        listener.close()


def get(port: int, path: str = "/") -> str:
    return httpx.get(f"http://127.0.0.1:{port}{path}", trust_env=False, timeout=PATIENCE).text


def closed_after(connection: socket.socket) -> float:
    """Seconds until the other side closes the connection."""
    began = time.monotonic()
    connection.settimeout(PATIENCE)
    with suppress(ConnectionResetError):
        assert connection.recv(1) == b""
    return time.monotonic() - began


def receive_until(connection: socket.socket, words: bytes) -> None:
    """Read what comes until the words have come."""
    received = b""
    while words not in received:
        part = connection.recv(1000)
        assert part, received
        received += part


def test_a_caller_is_answered_among_more_idle_connections_than_there_may_be():
    table = ConnectionTable(MOST)
    with serving(table) as port, ExitStack() as stack:
        idle = [
            stack.enter_context(socket.create_connection(("127.0.0.1", port)))
            for _ in range(5 * MOST)
        ]
        assert get(port) == "end"
        assert len(table) <= MOST // 2, "an address has at most half"
        assert closed_after(idle[0]) < IDLE_SECONDS


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nHost: x\r\nX-Slow: "])
def test_a_connection_without_a_complete_request_is_closed(sent):
    with (
        serving(ConnectionTable(MOST, idle=0.2)) as port,
        socket.create_connection(("127.0.0.1", port)) as connection,
    ):
        connection.sendall(sent)
        assert closed_after(connection) < IDLE_SECONDS


def test_an_answer_may_take_longer_than_a_connection_may_be_idle():
    with serving(ConnectionTable(MOST, idle=IDLE)) as port:
        assert get(port, "/slow") == "partpartpartend"


def test_a_connection_with_a_request_now_and_then_stays_open():
    used = 0
    with (
        serving(ConnectionTable(MOST, idle=IDLE)) as port,
        httpx.Client(
            base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=PATIENCE
        ) as client,
    ):
        began, ports = time.monotonic(), set()
        while used <= 10 or time.monotonic() - began < 2 * IDLE:
            answer = client.get("/")
            stream = answer.extensions["network_stream"]
            ports.add(stream.get_extra_info("client_addr"))
            used += 1
            time.sleep(IDLE / 10)
    assert len(ports) == 1, "all requests went over one connection"


def test_connections_that_are_answered_are_not_closed_for_others():
    table = ConnectionTable(2)
    with serving(table) as port, ExitStack() as stack:
        busy = stack.enter_context(socket.create_connection(("127.0.0.1", port)))
        busy.sendall(b"POST /held HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\n")
        busy.settimeout(PATIENCE)
        receive_until(busy, b"part")
        other = stack.enter_context(socket.create_connection(("127.0.0.1", port)))
        assert closed_after(other) < IDLE_SECONDS, "there is no room"
        busy.sendall(b"done")
        receive_until(busy, b"end")


@pytest.mark.slow
def test_a_service_with_few_descriptors_answers_among_many_idle_connections(tmp_path):
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, hard), hard))
    with (
        running(tmp_path / "data", prefix=("prlimit", "--nofile=1024:1024")) as service,
        ExitStack() as stack,
    ):
        port = int(service.url.rpartition(":")[2])
        for _ in range(1100):
            stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=PATIENCE))
        for _ in range(20):
            answer = httpx.get(f"{service.url}/healthz", timeout=0.9 * IDLE_SECONDS)
            assert answer.status_code == 200
    assert (tmp_path / "data.log").stat().st_size < 100_000
