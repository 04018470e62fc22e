"""What happened."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from clearwatt.service.parts import Here
from clearwatt.service.routes.errors import documented
from clearwatt.service.schemas.history import (
    EventAnswer,
    EventPage,
    EventQuery,
)

router = APIRouter(tags=["history"])

_COLUMNS = ["seq", "at", "kind", "zone", "entity", "time", "actor", "message", "key", "details"]


@router.get(
    "/v1/events",
    response_model=EventPage,
    responses={
        **documented(),
        200: {
            "description": "Events, as JSON or as a table",
            "content": {"text/csv": {"schema": {"type": "string"}}},
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
        return Response(_table(events), media_type="text/csv")
    more = len(events) == asked.limit
    return EventPage(events=events, next=events[-1].seq if more else None)


def _table(events: Sequence[EventAnswer]) -> str:
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(_COLUMNS)
    for event in events:
        row = {**event.model_dump(), "details": json.dumps(event.details)}
        writer.writerow([_harmless(row[name]) for name in _COLUMNS])
    return text.getvalue()


def _harmless(value: object) -> str:
    """Text a spreadsheet does not take for a formula."""
    text = "" if value is None else str(value)
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text
