"""Readings that failed a quality check: list, release, drop."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from clearwatt.service.api.commands import command_readings
from clearwatt.service.api.context import App, RequestCaller
from clearwatt.service.api.routes.errors import error_responses
from clearwatt.service.api.schemas.commands import AcceptedList, ReadingKeys
from clearwatt.service.api.schemas.history import (
    QuarantinedReading,
    QuarantinePage,
    QuarantineQuery,
)

router = APIRouter(tags=["quarantine"])


@router.get("/v1/quarantine", responses=error_responses(404))
def list_quarantine(app: App, query: Annotated[QuarantineQuery, Query()]) -> QuarantinePage:
    """Quarantined readings with the reason, newest first."""
    number = None if query.entity is None else app.registry.entity(query.entity).number
    found = app.store.quarantine(entity=number, limit=query.limit, offset=query.offset)
    numbers = app.registry.snapshot.numbers
    readings = [QuarantinedReading.of(each, numbers[each.entity].id) for each in found]
    more = query.offset + query.limit if len(found) == query.limit else None
    return QuarantinePage(readings=readings, next_offset=more)


@router.post("/v1/quarantine/release", status_code=202, responses=error_responses(404, 409, 507))
def release(app: App, caller: RequestCaller, items: ReadingKeys) -> AcceptedList:
    """Accept quarantined readings for learning."""
    return AcceptedList(
        commands=command_readings(app, caller, "release", items=items.items, reason=items.reason)
    )


@router.post("/v1/quarantine/drop", status_code=202, responses=error_responses(404, 409, 507))
def drop(app: App, caller: RequestCaller, items: ReadingKeys) -> AcceptedList:
    """Discard quarantined readings; they are never learned from."""
    return AcceptedList(
        commands=command_readings(app, caller, "drop", items=items.items, reason=items.reason)
    )
