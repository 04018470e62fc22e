"""Limits of request bodies: their size, the time they take, and the memory of all of them."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from clearwatt.service.api.problems import RETRY_AFTER, problem
from clearwatt.service.api.security.auth import LOGIN_PATHS

LOGIN_BYTES = 16_384
"""Largest body of the login form."""
HELD_BY_CALLER, HELD_BY_ALL = 8, 16
"""Bodies of the largest size held in memory at a time."""
BODY_SECONDS = 60.0
"""Seconds that a body may take to arrive."""
DRAIN_FACTOR = 4
"""An oversized body is read up to this multiple of the limit and discarded: a client that reads
only after sending then receives the error instead of a broken connection."""


class BodyLimitMiddleware:
    """Rejects bodies above ``limit`` bytes with 413, with or without a Content-Length.

    The login form has a limit of its own, because it needs no token. Bodies are held in memory
    until they are answered: up to `HELD_BY_ALL` of the largest in all, `HELD_BY_CALLER` of a
    caller. One that takes longer than ``seconds`` to arrive is rejected with 408.
    """

    def __init__(self, app: ASGIApp, *, limit: int, seconds: float = BODY_SECONDS) -> None:
        self.app, self.limit, self.seconds = app, limit, seconds
        self._memory = _BodyMemory(HELD_BY_CALLER * limit, HELD_BY_ALL * limit)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Read the body up to the limit and pass the request on with it."""
        if scope["type"] != "http" or not _has_body(scope):
            await self.app(scope, receive, send)
            return
        limit = min(self.limit, LOGIN_BYTES) if scope["path"] in LOGIN_PATHS else self.limit
        with self._memory.body(scope["state"]["caller"].key) as body:
            answer = await self._answer(scope, receive, body, limit)
            await answer(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, body: _HeldBody, limit: int) -> ASGIApp:
        """The application with the whole body, or the reason to reject it."""
        try:
            async with asyncio.timeout(self.seconds):
                fits = await _read(scope, receive, body, limit)
        except TimeoutError:
            message = f"the body did not arrive within {self.seconds:g} s; send less at a time"
            return problem(408, message, headers={"Connection": "close"})
        if not fits:
            message = f"the body has more than {limit} bytes; send it in several requests"
            return problem(413, message)
        if body.is_refused:
            message = "too many large requests at once; send one after the other"
            return problem(429, message, headers={"Retry-After": str(RETRY_AFTER)})
        return _with_body(self.app, body.messages)


class _HeldBody:
    """The messages of a body, as long as there is memory for them."""

    def __init__(self, memory: _BodyMemory, caller: str) -> None:
        self.memory, self.caller = memory, caller
        self.messages: list[Message] = []
        self.size, self.is_refused = 0, False

    def add(self, message: Message) -> None:
        """Hold a message; if there is no room for it, none is held."""
        size = len(message.get("body", b""))
        if self.is_refused or not self.memory.take(self.caller, size):
            self.discard()
            self.is_refused = True
            return
        self.messages.append(message)
        self.size += size

    def discard(self) -> None:
        """Release the memory."""
        self.messages.clear()
        self.memory.release(self.caller, self.size)
        self.size = 0


class _BodyMemory:
    """Bytes of bodies that are held, by caller and in all."""

    def __init__(self, by_caller: int, by_all: int) -> None:
        self._by_caller, self._by_all = by_caller, by_all
        self._held: Counter[str] = Counter()

    @contextmanager
    def body(self, caller: str) -> Iterator[_HeldBody]:
        """A body whose memory is released with the block."""
        held = _HeldBody(self, caller)
        try:
            yield held
        finally:
            held.discard()

    def take(self, caller: str, size: int) -> bool:
        """Count bytes; False if that would be too many."""
        own, everybody = self._held[caller] + size, self._held.total() + size
        if own > self._by_caller or everybody > self._by_all:
            return False
        self._held[caller] = own
        return True

    def release(self, caller: str, size: int) -> None:
        """Count bytes off."""
        self._held[caller] -= size
        if not self._held[caller]:
            del self._held[caller]


async def _read(scope: Scope, receive: Receive, body: _HeldBody, limit: int) -> bool:
    """Read a body; False if it is too large, and then it is not held."""
    announced = Headers(scope=scope).get("content-length", "")
    fits = not (announced.isdigit() and int(announced) > limit)
    size, more = 0, True
    while more and size <= DRAIN_FACTOR * limit:
        message = await receive()
        size += len(message.get("body", b""))
        fits = fits and size <= limit
        if fits:
            body.add(message)
        else:
            body.discard()
        more = message.get("more_body", False)
    return fits


def _with_body(app: ASGIApp, messages: list[Message]) -> ASGIApp:
    """The application, which receives these messages first."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        await app(scope, _replay(messages, receive), send)

    return answer


def _has_body(scope: Scope) -> bool:
    headers = Headers(scope=scope)
    return "transfer-encoding" in headers or headers.get("content-length", "0") != "0"


def _replay(messages: list[Message], receive: Receive) -> Receive:
    """A receive function that returns these messages first, then those of ``receive``."""
    waiting = iter(messages)

    async def replay() -> Message:
        message = next(waiting, None)
        return message if message is not None else await receive()

    return replay
