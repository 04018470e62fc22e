"""The fleet at a glance, as the first page shows it."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from clearwatt.service.api.context import Here
from clearwatt.service.api.fleet_selection import select
from clearwatt.service.api.routes.errors import documented
from clearwatt.service.api.schemas.fleet import FleetPage, FleetQuery

router = APIRouter(tags=["entities"])


@router.get("/v1/fleet", responses=documented())
def show_fleet(here: Here, asked: Annotated[FleetQuery, Query()]) -> FleetPage:
    """Entities at a glance, those that need somebody first."""
    return select(here.overview.members(here.learner.health), asked).answer(asked)
