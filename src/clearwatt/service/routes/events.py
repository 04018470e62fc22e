"""What happened, and what the models saw of an entity."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from clearwatt.service.parts import Here
from clearwatt.service.ranges import check_steps, past_range
from clearwatt.service.routes.errors import documented
from clearwatt.service.schemas.base import numbers
from clearwatt.service.schemas.history import (
    EventAnswer,
    EventPage,
    EventQuery,
    SignalAnswer,
    SignalQuery,
)
from clearwatt.service.signals import signals_of
from clearwatt.service.times import texts

router = APIRouter(tags=["history"])

MOST_ROWS = 500_000
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
    )
    events = [EventAnswer.of(each) for each in found]
    wanted = asked.format or ("csv" if "text/csv" in request.headers.get("accept", "") else "json")
    if wanted == "csv":
        return Response(_table(events), media_type="text/csv")
    more = len(events) == asked.limit
    return EventPage(events=events, next=events[-1].seq if more else None)


@router.get("/v1/signals", responses=documented(404))
def signals(here: Here, asked: Annotated[SignalQuery, Query()]) -> SignalAnswer:
    """What was measured, forecast and reconstructed, beside the thresholds in force."""
    entity = here.registry.entity(asked.entity)
    zone = here.registry.zone(entity.zone)
    start, end = past_range(here, zone, asked)
    check_steps((end - start) // zone.step, MOST_ROWS)
    found = signals_of(here.store, entity, start=start, end=end).thinned(asked.points)
    status = here.store.statuses([zone.id]).get(zone.id)
    content = status.content if status else {}
    own = content.get("entities", {}).get(entity.id, {})
    return SignalAnswer(
        entity=entity.id,
        unit=entity.unit,
        times=texts(found.times),
        measured=numbers(found.measured),
        forecast=numbers(found.forecast),
        error=numbers(found.error),
        reconstruction=numbers(found.reconstruction),
        threshold=own.get("threshold"),
        reconstruction_threshold=(content.get("reconstruction") or {}).get("threshold"),
    )


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
