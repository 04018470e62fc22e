"""Error pages: the JSON errors of the API as HTML for browsers."""

from __future__ import annotations

import json

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from clearwatt.service.api.security.auth import Caller
from clearwatt.service.dashboard.rendering import page

HEADINGS = {
    404: "Page not found",
    403: "Not allowed",
    422: "Invalid address",
    429: "Too many requests",
    503: "Service unavailable",
}


class ErrorPageMiddleware:
    """Turns an error answer to a browser's navigation into a page."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on and replace an error answer."""
        if scope["type"] != "http" or "text/html" not in Headers(scope=scope).get("accept", ""):
            await self.app(scope, receive, send)
            return
        await self.app(scope, receive, _PageSender(scope, receive, send))


class _PageSender:
    """Collects an error answer and sends it as a page; passes all other messages on."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._scope, self._receive, self._send = scope, receive, send
        self._start: Message | None = None
        self._body = b""

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start" and _is_problem(message):
            self._start = message
            return
        if self._start is None:
            await self._send(message)
            return
        self._body += message.get("body", b"")
        if not message.get("more_body", False):
            await self._answer(self._start)

    async def _answer(self, start: Message) -> None:
        status, error = int(start["status"]), json.loads(self._body)["error"]
        headers = {
            name: value
            for name, value in Headers(raw=start["headers"]).items()
            if name not in ("content-type", "content-length")
        }
        # The error may have occurred before the caller was identified.
        state = self._scope.setdefault("state", {})
        state.setdefault("caller", Caller(key="", name="unknown"))
        context = {
            "status": status,
            "heading": HEADINGS.get(status, "The request failed"),
            "message": error["message"],
        }
        answer = page(Request(self._scope), "error.html", context, status=status)
        answer.headers.update(headers)
        await answer(self._scope, self._receive, self._send)


def _is_problem(start: Message) -> bool:
    kind = Headers(raw=start["headers"]).get("content-type", "")
    return start["status"] >= 400 and kind.startswith("application/json")
