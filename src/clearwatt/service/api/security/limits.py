"""How much a caller may send, and how often; and the headers that every answer carries."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from clearwatt.service.api.problems import problem
from clearwatt.service.api.security.auth import OPEN

MOST_CALLERS = 10_000
"""Callers a rate limit remembers before it forgets those who have been quiet."""
DRAINED = 4
"""How many times the permitted size is read and thrown away, so that a client that sends first
and listens later hears that it was too much instead of a broken connection."""

HEADERS = {
    "Content-Security-Policy": "default-src 'self'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
"""What every answer carries unless it says otherwise itself."""


class BodyLimitMiddleware:
    """Refuses bodies above ``limit`` bytes with 413, whether they announce their size or not."""

    def __init__(self, app: ASGIApp, *, limit: int) -> None:
        self.app, self.limit = app, limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Read the body, within bounds, and pass the request on with it."""
        if scope["type"] != "http" or not _has_body(scope):
            await self.app(scope, receive, send)
            return
        read = await self._read(scope, receive)
        if read is None:
            message = f"the body has more than {self.limit} bytes; send it in several requests"
            await problem(413, message)(scope, receive, send)
            return
        await self.app(scope, _again(read, receive), send)

    async def _read(self, scope: Scope, receive: Receive) -> list[Message] | None:
        """The messages of the body; None if it is too large."""
        announced = Headers(scope=scope).get("content-length", "")
        fits = not (announced.isdigit() and int(announced) > self.limit)
        messages: list[Message] = []
        size, more = 0, True
        while more and size <= DRAINED * self.limit:
            message = await receive()
            size += len(message.get("body", b""))
            fits = fits and size <= self.limit
            if fits:
                messages.append(message)
            else:
                messages.clear()
            more = message.get("more_body", False)
        return messages if fits else None


def _has_body(scope: Scope) -> bool:
    headers = Headers(scope=scope)
    return "transfer-encoding" in headers or headers.get("content-length", "0") != "0"


def _again(messages: list[Message], receive: Receive) -> Receive:
    """Hand out messages that were read before, then go on listening."""
    waiting = iter(messages)

    async def replay() -> Message:
        message = next(waiting, None)
        return message if message is not None else await receive()

    return replay


@dataclass(slots=True)
class _Bucket:
    left: float
    at: float


class Buckets:
    """A token bucket per caller: ``burst`` at once, ``rate`` per second in the long run."""

    def __init__(
        self, *, rate: float, burst: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.rate, self.burst, self.clock = rate, burst, clock
        self._buckets: dict[str, _Bucket] = {}

    def wait(self, caller: str) -> float:
        """Take one and return 0, or the seconds until there is one again."""
        now = self.clock()
        bucket = self._buckets.get(caller)
        if bucket is None:
            self._make_room(now)
            bucket = self._buckets[caller] = _Bucket(self.burst, now)
        bucket.left = min(self.burst, bucket.left + (now - bucket.at) * self.rate)
        bucket.at = now
        if bucket.left < 1:
            return (1 - bucket.left) / self.rate
        bucket.left -= 1
        return 0.0

    def _make_room(self, now: float) -> None:
        if len(self._buckets) < MOST_CALLERS:
            return
        full_again = self.burst / self.rate
        self._buckets = {
            caller: bucket
            for caller, bucket in self._buckets.items()
            if now - bucket.at < full_again
        }


class RateLimitMiddleware:
    """Answers 429 with Retry-After to callers who ask too often; probes are left alone."""

    def __init__(self, app: ASGIApp, *, buckets: Buckets) -> None:
        self.app, self.buckets = app, buckets

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Count the request and pass it on."""
        wait = 0.0
        if scope["type"] == "http" and scope["path"] not in OPEN:
            wait = self.buckets.wait(scope["state"]["caller"].key)
        if not wait:
            await self.app(scope, receive, send)
            return
        message = f"more than {self.buckets.rate:g} requests per second; wait {wait:.1f} s"
        answer = problem(429, message, headers={"Retry-After": str(math.ceil(wait))})
        await answer(scope, receive, send)


class SecurityHeadersMiddleware:
    """Puts on every answer what browsers need to keep pages of others away from it."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on and add to its answer."""

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await self.app(scope, receive, with_headers)
