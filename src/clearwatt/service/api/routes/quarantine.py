"""Readings that failed the quality checks: look at them, release them, drop them."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from clearwatt.service.api.commands import order_readings
from clearwatt.service.api.context import By, Here
from clearwatt.service.api.routes.errors import documented
from clearwatt.service.api.schemas.commands import AcceptedList, Items
from clearwatt.service.api.schemas.history import (
    QuarantinedReading,
    QuarantinePage,
    QuarantineQuery,
)

router = APIRouter(tags=["quarantine"])


@router.get("/v1/quarantine", responses=documented(404))
def list_quarantine(here: Here, asked: Annotated[QuarantineQuery, Query()]) -> QuarantinePage:
    """Readings that failed, with the reason; the newest first."""
    number = None if asked.entity is None else here.registry.entity(asked.entity).number
    found = here.store.quarantine(entity=number, limit=asked.limit, offset=asked.offset)
    numbers = here.registry.roster.numbers
    readings = [QuarantinedReading.of(each, numbers[each.entity].id) for each in found]
    more = asked.offset + asked.limit if len(found) == asked.limit else None
    return QuarantinePage(readings=readings, next_offset=more)


@router.post("/v1/quarantine/release", status_code=202, responses=documented(404, 409, 507))
def release(here: Here, by: By, items: Items) -> AcceptedList:
    """Let readings be learned from after all."""
    given = order_readings(here, by, "release", items=items.items, reason=items.reason)
    return AcceptedList(commands=given)


@router.post("/v1/quarantine/drop", status_code=202, responses=documented(404, 409, 507))
def drop(here: Here, by: By, items: Items) -> AcceptedList:
    """Confirm that readings are wrong; they are never learned from."""
    given = order_readings(here, by, "drop", items=items.items, reason=items.reason)
    return AcceptedList(commands=given)
