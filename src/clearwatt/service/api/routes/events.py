"""What happened."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import StreamingResponse

from clearwatt.service.api.context import Here, Parts
from clearwatt.service.api.event_table import lines
from clearwatt.service.api.routes.errors import documented
from clearwatt.service.api.schemas.history import (
    EventAnswer,
    EventFilter,
    EventPage,
    EventQuery,
)

router = APIRouter(tags=["history"])

AT_A_TIME = 1000
"""Events of an export that are in memory at once."""

_CSV: dict[str, Any] = {"text/csv": {"schema": {"type": "string"}}}


@router.get(
    "/v1/events",
    response_model=EventPage,
    responses={
        **documented(),
        200: {
            "description": "Events, as JSON or as a table",
            "content": _CSV,
        },
    },
)
def list_events(
    here: Here, asked: Annotated[EventQuery, Query()], request: Request
) -> EventPage | Response:
    """Every update, refusal and command, with who or what started it; the newest first."""
    found = here.store.events(
        zone=asked.zone,
        entity=asked.entity,
        kinds=asked.kind or None,
        start=asked.start,
        end=asked.end,
        after=asked.after,
        before=asked.before,
        limit=asked.limit,
        shared=asked.shared,
    )
    events = [EventAnswer.of(each) for each in found]
    wanted = asked.format or ("csv" if "text/csv" in request.headers.get("accept", "") else "json")
    if wanted == "csv":
        return Response("".join(lines(events)), media_type="text/csv")
    more = len(events) == asked.limit
    return EventPage(events=events, next=events[-1].seq if more else None)


@router.get(
    "/v1/events/export",
    response_class=StreamingResponse,
    responses={
        **documented(),
        200: {"description": "A table with a head", "content": _CSV},
    },
)
def export_events(here: Here, asked: Annotated[EventFilter, Query()]) -> StreamingResponse:
    """All events that fit, the newest first, as one file."""
    return StreamingResponse(
        lines(_all(here, asked)),
        media_type="text/csv",
        headers={"Content-Disposition": 'attachment; filename="clearwatt-events.csv"'},
    )


def _all(here: Parts, asked: EventFilter) -> Iterator[EventAnswer]:
    before: int | None = None
    while found := here.store.events(
        zone=asked.zone,
        entity=asked.entity,
        kinds=asked.kind or None,
        start=asked.start,
        end=asked.end,
        before=before,
        limit=AT_A_TIME,
        shared=asked.shared,
    ):
        yield from map(EventAnswer.of, found)
        before = found[-1].seq
