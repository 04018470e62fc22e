"""Events: list and export."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import StreamingResponse

from clearwatt.service.api.context import App, AppContext
from clearwatt.service.api.event_table import lines
from clearwatt.service.api.routes.errors import error_responses
from clearwatt.service.api.schemas.history import (
    EventAnswer,
    EventFilter,
    EventPage,
    EventQuery,
)
from clearwatt.service.records import ServiceEvent

router = APIRouter(tags=["history"])

AT_A_TIME = 1000
"""Events of an export held in memory at a time."""

_CSV: dict[str, Any] = {"text/csv": {"schema": {"type": "string"}}}


@router.get(
    "/v1/events",
    response_model=EventPage,
    responses={
        **error_responses(),
        200: {
            "description": "Events, as JSON or as a table",
            "content": _CSV,
        },
    },
)
def list_events(
    app: App, query: Annotated[EventQuery, Query()], request: Request
) -> EventPage | Response:
    """Updates, rejections and commands with their originator, newest first."""
    found = _find(app, query, limit=query.limit, after=query.after, before=query.before)
    events = [EventAnswer.of(each) for each in found]
    wanted = query.format or ("csv" if "text/csv" in request.headers.get("accept", "") else "json")
    if wanted == "csv":
        return Response("".join(lines(events)), media_type="text/csv")
    more = len(events) == query.limit
    return EventPage(events=events, next=events[-1].seq if more else None)


@router.get(
    "/v1/events/export",
    response_class=StreamingResponse,
    responses={
        **error_responses(),
        200: {"description": "A table with a head", "content": _CSV},
    },
)
def export_events(app: App, query: Annotated[EventFilter, Query()]) -> StreamingResponse:
    """All matching events, newest first, as one file."""
    return StreamingResponse(
        lines(_all_events(app, query)),
        media_type="text/csv",
        headers={"Content-Disposition": 'attachment; filename="clearwatt-events.csv"'},
    )


def _all_events(app: AppContext, query: EventFilter) -> Iterator[EventAnswer]:
    before: int | None = None
    while found := _find(app, query, limit=AT_A_TIME, before=before):
        yield from map(EventAnswer.of, found)
        before = found[-1].seq


def _find(
    app: AppContext,
    query: EventFilter,
    *,
    limit: int,
    after: int | None = None,
    before: int | None = None,
) -> list[ServiceEvent]:
    return app.store.events(
        zone=query.zone,
        entity=query.entity,
        kinds=query.kind or None,
        start=query.start,
        end=query.end,
        after=after,
        before=before,
        limit=limit,
        shared=query.shared,
    )
