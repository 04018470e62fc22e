"""The first page: every entity, those that need somebody first."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from clearwatt.service.dashboard.rendering import page
from clearwatt.service.parts import Here

router = APIRouter(include_in_schema=False)


@router.get("/")
def show_fleet(here: Here, request: Request) -> HTMLResponse:
    """The page."""
    return page(request, "fleet.html", {})
