"""The fleet overview, as on the first page of the dashboard."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from clearwatt.service.api.context import App
from clearwatt.service.api.fleet_selection import select
from clearwatt.service.api.routes.errors import error_responses
from clearwatt.service.api.schemas.fleet import FleetPage, FleetQuery

router = APIRouter(tags=["entities"])


@router.get("/v1/fleet", responses=error_responses())
def show_fleet(app: App, query: Annotated[FleetQuery, Query()]) -> FleetPage:
    """Overview of entities, those with alerts first."""
    return select(app.overview.members(app.learner.health), query).answer(query)
