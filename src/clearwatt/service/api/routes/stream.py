"""Live news as server-sent events, for pages that stay open."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Annotated, Any

from anyio import to_thread
from fastapi import APIRouter, Header, Query, Response
from fastapi.responses import StreamingResponse

from clearwatt.service.api.context import App, AppContext, RequestCaller
from clearwatt.service.api.feed import News
from clearwatt.service.api.problems import RETRY_AFTER, problem
from clearwatt.service.api.routes.errors import error_responses
from clearwatt.service.api.schemas.base import EventNumber
from clearwatt.service.api.schemas.history import EventAnswer, StreamQuery
from clearwatt.service.api.security.auth import Caller

router = APIRouter(tags=["history"])

LIFETIME = 600.0
"""Seconds after which a stream ends; the client reconnects and is authorised again."""
RETRY = 1000
"""Milliseconds after which a disconnected browser reconnects."""

_HEADERS = {"X-Accel-Buffering": "no"}  # a buffering proxy would delay the news


@router.get(
    "/v1/stream",
    response_class=StreamingResponse,
    responses={
        **error_responses(),
        200: {"content": {"text/event-stream": {}}, "description": "News, until it is cut off"},
    },
)
async def stream(
    app: App,
    caller: RequestCaller,
    query: Annotated[StreamQuery, Query()],
    last_event_id: Annotated[EventNumber | None, Header()] = None,
) -> Response:
    """News as server-sent events, as long as the caller is authorised.

    `change` names a zone whose status changed, `log` is an event with its number as id, `beat` is a
    heartbeat every ten seconds without news. The header Last-Event-ID, or `after`, resumes.
    """
    if app.feed.is_full:
        message = "too many open streams; close pages that are not in use"
        return problem(503, message, headers={"Retry-After": str(RETRY_AFTER)})
    after = query.after if last_event_id is None else last_event_id
    return StreamingResponse(
        _messages(app, caller, after), media_type="text/event-stream", headers=_HEADERS
    )


async def _messages(app: AppContext, caller: Caller, after: int | None) -> AsyncIterator[str]:
    if after is None:  # read before the first message, so that no event after it is missed
        after = await app.feed.newest()
    yield f"retry: {RETRY}\n" + _message("beat", {})
    clock = asyncio.get_running_loop().time
    until = clock() + LIFETIME
    async with aclosing(app.feed.listen(after)) as news:
        async for each in news:
            if clock() > until or not await _is_authorised(app, caller):
                return
            yield _format_news(each)


async def _is_authorised(app: AppContext, caller: Caller) -> bool:
    """Whether the caller may still listen; its token may be revoked, or the first one created."""
    if app.tokens.is_stale:
        await to_thread.run_sync(app.tokens.refresh)
    return app.is_open if caller.role is None else app.tokens.is_valid(caller)


def _format_news(news: News) -> str:
    changes = [_message("change", {"zone": zone}) for zone in news.zones]
    log = [
        _message("log", EventAnswer.of(event).model_dump(), number=event.seq)
        for event in news.events
    ]
    return "".join(log + changes) or _message("beat", {})


def _message(name: str, data: dict[str, Any], *, number: int | None = None) -> str:
    identity = "" if number is None else f"id: {number}\n"
    return f"{identity}event: {name}\ndata: {json.dumps(data)}\n\n"
