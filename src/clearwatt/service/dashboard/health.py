"""How the service itself fares."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from clearwatt.service.dashboard.rendering import page
from clearwatt.service.parts import Here

router = APIRouter(include_in_schema=False)


@router.get("/health")
def show_health(here: Here, request: Request) -> HTMLResponse:
    """The page."""
    return page(request, "health.html", {})
