"""Limit of the request rate, and security headers of every answer."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from clearwatt.service.api.problems import problem
from clearwatt.service.api.security.auth import OPEN_PATHS

MOST_CALLERS = 10_000
"""Number of callers above which buckets of inactive ones are removed."""

HEADERS = {
    "Content-Security-Policy": "default-src 'self'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
"""Default headers of every answer; an answer may override them."""


@dataclass(slots=True)
class _Bucket:
    left: float
    at: float


class Buckets:
    """Token buckets by caller: capacity ``burst``, refilled with ``rate`` per second."""

    def __init__(
        self, *, rate: float, burst: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.rate, self.burst, self.clock = rate, burst, clock
        self._buckets: dict[str, _Bucket] = {}

    def wait(self, caller: str) -> float:
        """Take one token and return 0, or return the seconds until one is available."""
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
    """Answers 429 with Retry-After to callers above their rate; probes are exempt."""

    def __init__(self, app: ASGIApp, *, buckets: Buckets) -> None:
        self.app, self.buckets = app, buckets

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Count the request and pass it on or reject it."""
        wait = 0.0
        if scope["type"] == "http" and scope["path"] not in OPEN_PATHS:
            wait = self.buckets.wait(scope["state"]["caller"].key)
        if not wait:
            await self.app(scope, receive, send)
            return
        message = f"more than {self.buckets.rate:g} requests per second; wait {wait:.1f} s"
        answer = problem(429, message, headers={"Retry-After": str(math.ceil(wait))})
        await answer(scope, receive, send)


class SecurityHeadersMiddleware:
    """Adds the headers that protect answers from pages of other sites."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on and add headers to its answer."""

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await self.app(scope, receive, with_headers)
