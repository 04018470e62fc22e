"""Middleware that counts requests by route and status."""

from __future__ import annotations

import time

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from clearwatt.service.metrics import Metrics


class RequestMetricsMiddleware:
    """Counts each answer by route pattern, so that ids do not multiply the series."""

    def __init__(self, app: ASGIApp, *, metrics: Metrics) -> None:
        self.app, self.metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on and count its answer."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began, status = time.perf_counter(), 500

        async def send_and_note(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self.app(scope, receive, send_and_note)
        finally:
            route = getattr(scope.get("route"), "path", "none")
            seconds = time.perf_counter() - began
            self.metrics.count_request(
                route=route, method=scope["method"], status=status, seconds=seconds
            )
