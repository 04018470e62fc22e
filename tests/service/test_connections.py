"""Idle and slow connections are closed, and there is always room for a caller who asks."""

import resource
import socket
import threading
import time
from contextlib import ExitStack, contextmanager, suppress

import httpx
import pytest
import uvicorn
from tests.service.running import running

from clearwatt.service.connections import ConnectionTable, bounded_protocol

MOST = 8


async def application(scope, receive, send):
    """Answers at once, or in three parts with pauses."""
    import asyncio

    await send({"type": "http.response.start", "status": 200, "headers": []})
    for _ in range(3 if scope["path"] == "/slow" else 0):
        await asyncio.sleep(0.2)
        await send({"type": "http.response.body", "body": b"part", "more_body": True})
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
    return httpx.get(f"http://127.0.0.1:{port}{path}", trust_env=False, timeout=10).text


def closed_after(connection: socket.socket) -> float:
    """Seconds until the other side closes the connection."""
    began = time.monotonic()
    connection.settimeout(10)
    with suppress(ConnectionResetError):
        assert connection.recv(1) == b""
    return time.monotonic() - began


def test_a_caller_is_answered_among_more_idle_connections_than_there_may_be():
    table = ConnectionTable(MOST)
    with serving(table) as port, ExitStack() as stack:
        idle = [
            stack.enter_context(socket.create_connection(("127.0.0.1", port)))
            for _ in range(5 * MOST)
        ]
        assert get(port) == "end"
        assert len(table) <= MOST // 2, "an address has at most half"
        assert closed_after(idle[0]) < 5


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nHost: x\r\nX-Slow: "])
def test_a_connection_without_a_complete_request_is_closed(sent):
    with (
        serving(ConnectionTable(MOST, idle=0.2)) as port,
        socket.create_connection(("127.0.0.1", port)) as connection,
    ):
        connection.sendall(sent)
        assert closed_after(connection) < 5


def test_an_answer_may_take_longer_than_a_connection_may_be_idle():
    with serving(ConnectionTable(MOST, idle=0.1)) as port:
        assert get(port, "/slow") == "partpartpartend"


def test_a_connection_with_a_request_now_and_then_stays_open():
    idle, used = 0.4, 0
    with (
        serving(ConnectionTable(MOST, idle=idle)) as port,
        httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=10) as client,
    ):
        began, ports = time.monotonic(), set()
        while time.monotonic() - began < 5 * idle:
            answer = client.get("/")
            stream = answer.extensions["network_stream"]
            ports.add(stream.get_extra_info("client_addr"))
            used += 1
            time.sleep(idle / 10)
    assert used > 10
    assert len(ports) == 1, "all requests went over one connection"


def test_connections_that_are_answered_are_not_closed_for_others():
    table = ConnectionTable(2)
    with serving(table) as port, ExitStack() as stack:
        busy = stack.enter_context(socket.create_connection(("127.0.0.1", port)))
        busy.sendall(b"GET /slow HTTP/1.1\r\nHost: x\r\n\r\n")
        assert b"part" in busy.recv(1000) + busy.recv(1000)
        other = stack.enter_context(socket.create_connection(("127.0.0.1", port)))
        assert closed_after(other) < 5, "there is no room"
        busy.settimeout(10)
        received = b""
        while b"end" not in received:
            received += busy.recv(1000)


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
            stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=10))
        for _ in range(20):
            assert httpx.get(f"{service.url}/healthz", timeout=5).status_code == 200
    assert (tmp_path / "data.log").stat().st_size < 100_000
