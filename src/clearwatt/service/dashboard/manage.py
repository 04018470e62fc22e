"""Pages on which zones and entities are renamed and deleted."""

from __future__ import annotations

from collections import defaultdict
from typing import Annotated, Any
from urllib.parse import parse_qs, quote

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from pydantic import ValidationError

from clearwatt.errors import DataError
from clearwatt.service.api import registry_changes
from clearwatt.service.api.context import App, AppContext, RequestCaller
from clearwatt.service.api.problems import describe_errors
from clearwatt.service.api.schemas.base import Id
from clearwatt.service.api.schemas.registry import NewName
from clearwatt.service.dashboard.rendering import page

router = APIRouter(include_in_schema=False)


async def _read_form(request: Request) -> defaultdict[str, str]:
    """The fields of a form; those that are missing are empty."""
    fields = parse_qs((await request.body()).decode("utf-8", "replace"))
    return defaultdict(str, {name: values[0].strip() for name, values in fields.items()})


Form = Annotated[defaultdict[str, str], Depends(_read_form)]


@router.get("/zones")
def show_zones(app: App, request: Request) -> HTMLResponse:
    """All zones."""
    return page(request, "zones.html", {"views": app.overview.zones(app.learner.health)})


@router.get("/zones/{zone}")
def show_zone(app: App, request: Request, zone: Id) -> HTMLResponse:
    """The forms for a zone."""
    return page(request, "manage.html", _zone_context(app, zone))


@router.get("/entities/{entity}/manage")
def show_entity(app: App, request: Request, entity: Id) -> HTMLResponse:
    """The forms for an entity."""
    return page(request, "manage.html", _entity_context(app, entity))


@router.post("/zones/{zone}/rename")
def rename_zone(app: App, caller: RequestCaller, form: Form, zone: Id) -> Response:
    """Change the name of a zone."""
    registry_changes.rename_zone(app, caller, zone, _name(form["name"]))
    return _to(f"/zones/{quote(zone)}")


@router.post("/entities/{entity}/rename")
def rename_entity(app: App, caller: RequestCaller, form: Form, entity: Id) -> Response:
    """Change the name of an entity."""
    registry_changes.rename_entity(app, caller, entity, _name(form["name"]))
    return _to(f"/entities/{quote(entity)}")


@router.post("/zones/{zone}/delete")
def delete_zone(
    app: App, caller: RequestCaller, request: Request, form: Form, zone: Id
) -> Response:
    """Delete a zone whose id was typed in."""
    if form["confirm"] != zone:
        return _unconfirmed(request, _zone_context(app, zone))
    registry_changes.delete_zone(app, caller, zone)
    return _to("/zones")


@router.post("/entities/{entity}/delete")
def delete_entity(
    app: App, caller: RequestCaller, request: Request, form: Form, entity: Id
) -> Response:
    """Delete an entity whose id was typed in."""
    if form["confirm"] != entity:
        return _unconfirmed(request, _entity_context(app, entity))
    registry_changes.delete_entity(app, caller, entity)
    return _to("/")


def _zone_context(app: AppContext, zone: str) -> dict[str, Any]:
    found = app.registry.zone(zone)
    count = len(app.registry.zone_entities(zone))
    return {
        "kind": "zone",
        "subject": found,
        "path": f"/zones/{quote(zone)}",
        "back": f"/?zone={quote(zone)}",
        "gone": f"its {count:,} entities, their readings, weather, forecasts and models",
        "unconfirmed": False,
    }


def _entity_context(app: AppContext, entity: str) -> dict[str, Any]:
    found, path = app.registry.entity(entity), f"/entities/{quote(entity)}"
    return {
        "kind": "entity",
        "subject": found,
        "path": path,
        "back": path,
        "gone": "its readings, forecasts and models; the other entities of its zone stay as they "
        "are",
        "unconfirmed": False,
    }


def _unconfirmed(request: Request, context: dict[str, Any]) -> HTMLResponse:
    return page(request, "manage.html", {**context, "unconfirmed": True}, status=422)


def _name(text: str) -> str:
    try:
        return NewName(name=text).name
    except ValidationError as error:
        (first, *_) = describe_errors(error.errors(), skip=0)
        raise DataError(f"{first['where']}: {first['reason']}") from None


def _to(path: str) -> RedirectResponse:
    return RedirectResponse(path, status_code=303)
