"""The fleet at a glance, as the first page shows it."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from clearwatt.service.routes.errors import documented
from clearwatt.service.schemas.fleet import FleetPage, FleetQuery
from clearwatt.service.web.parts import Here
from clearwatt.service.web.selection import select

router = APIRouter(tags=["entities"])


@router.get("/v1/fleet", responses=documented())
def show_fleet(here: Here, asked: Annotated[FleetQuery, Query()]) -> FleetPage:
    """Entities at a glance, those that need somebody first."""
    return select(here.overview.members(here.learner.health), asked).answer(asked)
