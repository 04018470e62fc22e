"""Callers who mean no good: idle and slow connections, large bodies, odd requests."""

from __future__ import annotations

import http.client
import socket
import time
from contextlib import suppress

import numpy as np

from .callers import Callers
from .load import Windows

IDLE, SLOW = 200, 20
"""Connections that are held open, silent or with a request that does not end."""
LARGE = 17 * 2**20
PAUSE = 0.05
"""Seconds between two requests of a caller."""
PATHS = (
    *(
        "/v1/zones",
        "/v1/entities",
        "/v1/measurements",
        "/v1/weather",
        "/v1/forecasts",
        "/v1/events",
    ),
    *("/v1/models/predictor:farm:999", "/v1/signals", "/v1/quarantine", "/login", "/", "/nothing"),
    *("/v1/entities/farm%00", "/v1/zones/..%2f..", "/v1/measurements?entity=farm&start=9999-12-31"),
)
METHODS = ("GET", "POST", "PUT", "PATCH", "TRACE", "OPTIONS", "HEAD")
"""None of them changes anything here: no body of these callers is a valid one."""
EXPECTED = 507
"""The answer of a full disk, which is no failure."""


class HostileCallers(Callers):
    """Threads that trouble the service at a port; server errors without a restart are noted."""

    def __init__(self, port: int, windows: Windows) -> None:
        super().__init__(
            (self._hold_idle, self._hold_slow, self._send_large, self._fuzz, self._send_garbage)
        )
        self.port, self.windows, self.requests = port, windows, 0

    def _connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=5)

    def _hold(self, count: int, sent: bytes) -> None:
        held: list[socket.socket] = []
        while not self._ended.wait(PAUSE):
            with suppress(OSError):
                held.append(self._connect())
                held[-1].sendall(sent)
            if len(held) > count:
                held.pop(0).close()
        for each in held:
            each.close()

    def _hold_idle(self) -> None:
        self._hold(IDLE, b"")

    def _hold_slow(self) -> None:
        self._hold(
            SLOW, b"POST /v1/measurements HTTP/1.1\r\nHost: x\r\nContent-Length: 900\r\n\r\n{"
        )

    def _send_large(self) -> None:
        while not self._ended.wait(20 * PAUSE):
            with suppress(OSError), self._connect() as connection:
                head = f"POST /v1/weather HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {LARGE}"
                connection.sendall(head.encode() + b"\r\n\r\n" + bytes(2**20))

    def _send_garbage(self) -> None:
        rng = np.random.default_rng(2)
        while not self._ended.wait(2 * PAUSE):
            with suppress(OSError), self._connect() as connection:
                connection.sendall(rng.bytes(int(rng.integers(1, 3000))))

    def _fuzz(self) -> None:
        rng = np.random.default_rng(1)
        while not self._ended.wait(PAUSE):
            method, path = METHODS[rng.integers(len(METHODS))], PATHS[rng.integers(len(PATHS))]
            body = BODIES[rng.integers(len(BODIES))] if method != "GET" else None
            began = time.monotonic()
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
            try:
                connection.request(method, path, body, {"Content-Type": "application/json"})
                status = connection.getresponse().status
            except (OSError, http.client.HTTPException):
                continue  # refused, or closed because of a restart
            finally:
                connection.close()
            self.requests += 1
            fine = status < 500 or status == EXPECTED
            if not fine and not self.windows.overlap(began, time.monotonic()):
                self.failures.append(f"{method} {path}: {status}")


BODIES = (
    b"",
    b"{",
    b"[" * 5000,
    b'{"readings": [{"entity": "farm", "time": "now", "value": NaN}]}',
    b'{"id": "\\u0000", "step": -1}',
    b'{"readings": ' + b"1" * 10_000 + b"}",
    b"\xff\xfe" * 100,
)
