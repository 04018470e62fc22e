"""How the service itself fares."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from clearwatt.service.api.context import App
from clearwatt.service.api.service_report import report
from clearwatt.service.dashboard.rendering import page

router = APIRouter(include_in_schema=False)

SHOWN = 200
"""Zones on the page; those in trouble come first, and the API has them all."""


@router.get("/health")
def show_health(app: App, request: Request) -> HTMLResponse:
    """The page."""
    return page(request, "health.html", {"report": report(app), "shown": SHOWN})
