"""Bodies are bounded before they are read: in size, in time, and in all."""

import asyncio
import socket

import pytest
from tests.service.application import Web, listening
from tests.service.running import PATIENCE

from clearwatt.service.api.security.auth import Caller
from clearwatt.service.api.security.bodies import (
    HELD_BY_ALL,
    HELD_BY_CALLER,
    LOGIN_BYTES,
    BodyLimitMiddleware,
)

LIMIT = 1000


class Endpoint:
    """An application that reads its body and answers when it is told to."""

    def __init__(self) -> None:
        self.waiting = 0
        self.go_on = asyncio.Event()

    async def __call__(self, scope, receive, send):
        await receive()
        self.waiting += 1
        await self.go_on.wait()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})


async def post(app, caller: str, *parts: bytes, stall: bool = False) -> int:
    """Send a body in parts; the status of the answer."""
    statuses, left = [], list(parts)

    async def receive():
        if not left:
            await asyncio.Event().wait()
        part = left.pop(0)
        return {"type": "http.request", "body": part, "more_body": bool(left) or stall}

    async def send(message):
        statuses.append(message.get("status"))

    scope = {
        "type": "http",
        "path": "/v1/measurements",
        "headers": [(b"transfer-encoding", b"chunked")],
        "state": {"caller": Caller(caller, caller)},
    }
    await app(scope, receive, send)
    return statuses[0]


@pytest.mark.parametrize("callers", [1, 1000])
def test_bodies_held_at_a_time_are_bounded_per_caller_and_in_all(callers):
    async def run():
        endpoint = Endpoint()
        app = BodyLimitMiddleware(endpoint, limit=LIMIT)
        requests = [
            asyncio.create_task(post(app, f"caller {at % callers}", bytes(LIMIT)))
            for at in range(40)
        ]
        most = HELD_BY_CALLER if callers == 1 else HELD_BY_ALL
        while sum(request.done() for request in requests) < 40 - most:
            await asyncio.sleep(0)
        assert endpoint.waiting == most
        endpoint.go_on.set()
        assert sorted(await asyncio.gather(*requests)) == [200] * most + [429] * (40 - most)
        assert await post(app, "caller 0", bytes(LIMIT)) == 200, "the memory is free again"

    asyncio.run(run())


def test_a_body_that_does_not_arrive_in_time_is_given_up():
    async def run():
        app = BodyLimitMiddleware(Endpoint(), limit=LIMIT, seconds=0.05)
        assert await post(app, "slow", b"a few bytes", stall=True) == 408

    asyncio.run(run())


def test_the_login_form_takes_no_large_body(tmp_path):
    """It needs no token, so whoever reaches the service can send one; the answer comes at once."""
    web = Web(tmp_path)
    head = "POST /login HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 15000000\r\n\r\n"
    try:
        with listening(web) as url:
            port = int(url.rpartition(":")[2])
            with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
                connection.sendall(head.encode() + bytes(5 * LOGIN_BYTES))
                assert b" 413 " in connection.recv(100)
    finally:
        web.close()
