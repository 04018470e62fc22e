"""The page of a service that starts from nothing: what to do first, with the forms for it."""

from __future__ import annotations

from typing import get_args

from anyio import to_thread
from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from clearwatt.errors import ClearwattError
from clearwatt.imports.summary import export_summary
from clearwatt.service.api.context import App, AppContext
from clearwatt.service.api.problems import status_of
from clearwatt.service.api.schemas.entities import KindName
from clearwatt.service.dashboard.rendering import page
from clearwatt.service.dashboard.uploads import read_upload, split_body, store_export

router = APIRouter(include_in_schema=False)

VARIABLES = "temperature_2m, cloud_cover, wind_speed_10m, shortwave_radiation"
"""Weather variables that are suggested for a new zone."""
FEEDS = (
    (
        "An MQTT broker",
        "clearwatt feed mqtt --broker HOST --topic 'site/{entity}/power' --zone ZONE",
    ),
    ("Files that arrive in a folder", "clearwatt feed folder DIR --recipe recipe.toml"),
)
"""Further ways to send readings: title, and command without the address."""
WEATHER = (
    (
        "Open-Meteo, which needs no key",
        "clearwatt weather feed --zone ZONE --coordinates 52.23,21.01 --start 2024-01-01",
    ),
)
"""Ways to get weather: title, and command without the address."""
CHOICES = {
    "timezone": ("Europe/Berlin", "Europe/Warsaw", "Europe/Paris", "America/New_York", "UTC"),
    "unit": ("kWh", "kW", "MW", "W", "MWh"),
}
"""Suggestions for questions without choices."""


@router.get("/start")
def show_start(app: App, request: Request) -> HTMLResponse:
    """What to do first, with the import form and the commands of the feeds."""
    return start_page(app, request)


def start_page(app: AppContext, request: Request) -> HTMLResponse:
    """The page; the first page of a service without zones is the same."""
    address = str(request.base_url).rstrip("/")
    context = {
        "zones": sorted(app.registry.snapshot.zones),
        "address": address,
        "open": app.is_open,
        "variables": VARIABLES,
        "feeds": [(title, f"{command} --url {address}") for title, command in FEEDS],
        "weather": [(title, f"{command} --url {address}") for title, command in WEATHER],
        "most": app.config.max_body,
    }
    return page(request, "start.html", context)


@router.post("/start/import")
async def import_file(app: App, request: Request) -> HTMLResponse:
    """What is understood of a file, or what was stored of it; part of the page."""
    body = await request.body()
    return await to_thread.run_sync(_import, app, request, body)


def _import(app: AppContext, request: Request, body: bytes) -> HTMLResponse:
    context = {"error": None, "stored": None, "kinds": get_args(KindName), "choices": CHOICES}
    try:
        form, content = split_body(body)
        export = read_upload(form, content)
        found = {**export_summary(export, export.entities), "complete": export.complete}
        keys = {question.option: key for key, question in export.log.questions.items()}
        stored = store_export(app, form, export) if form.send else None
    except ClearwattError as error:
        if status_of(error) >= 500:
            raise
        return page(request, "import_result.html", {**context, "error": str(error)}, status=422)
    return page(
        request,
        "import_result.html",
        {**context, **found, "keys": keys, "form": form, "stored": stored},
    )
