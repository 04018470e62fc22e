"""Page of the service's health."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from clearwatt.service.api.context import App
from clearwatt.service.api.service_report import report
from clearwatt.service.dashboard.rendering import page

router = APIRouter(include_in_schema=False)

SHOWN = 200
"""Maximum zones on the page, those with errors first; the API has all."""


@router.get("/health")
def show_health(app: App, request: Request) -> HTMLResponse:
    """The page of the service's health."""
    return page(request, "health.html", {"report": report(app), "shown": SHOWN})
