"""Page of an entity: readings, forecasts, models, events and commands."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse
from markupsafe import Markup

from clearwatt.service.api.context import App, AppContext
from clearwatt.service.api.schemas.base import Id
from clearwatt.service.api.schemas.entities import EntityAnswer
from clearwatt.service.api.schemas.history import EventAnswer, QuarantinedReading, VersionAnswer
from clearwatt.service.api.schemas.signals import lead_answers
from clearwatt.service.dashboard.drawing import bar, preview, skill_words
from clearwatt.service.dashboard.evidence import event_evidence, in_service
from clearwatt.service.dashboard.rendering import page
from clearwatt.service.leads import lead_label
from clearwatt.service.records import RegisteredEntity
from clearwatt.service.registry import UnknownIdError
from clearwatt.service.views.accuracy import accuracy_warnings

router = APIRouter(include_in_schema=False)

VERSIONS, QUARANTINED, EVENTS = 30, 100, 30
"""Maximum number of each on the page, newest first; the API has all."""

SHOWN, AHEAD = 7 * 86_400, 2 * 86_400
"""Seconds of past and future that the plot shows at first."""

TRAINED = frozenset({"update", "refused", "awaiting"})
"""Kinds of events that describe a training with its trigger and result."""


@router.get("/entities/{entity}")
def show_entity(app: App, request: Request, entity: Id) -> HTMLResponse:
    """The page of an entity."""
    record = app.registry.entity(entity)
    context = _context(app, record)
    # An open page fetches its parts repeatedly and already has its plot.
    is_navigation = request.headers.get("sec-fetch-dest") != "empty"
    look = _preview(app, record, context) if is_navigation else ""
    return page(request, "entity.html", {**context, "preview": look})


@router.get("/entities/{entity}/events/{number}")
def show_event(app: App, request: Request, entity: Id, number: int) -> HTMLResponse:
    """The page of an event of an entity: why it happened and what it changed."""
    record = app.registry.entity(entity)
    found = app.store.events(entity=record.id, shared=True, after=number - 1, limit=1)
    if not found or found[0].seq != number:
        raise UnknownIdError(f"{record.id} has no event {number}; its page lists its events")
    event = EventAnswer.of(found[0])
    context = {
        "entity": record,
        "event": event,
        "trained": event.kind in TRAINED,
        "in_service": in_service(app, record),
        **event_evidence(app, record, found[0]),
    }
    return page(request, "entity_event.html", context)


def _context(app: AppContext, entity: RegisteredEntity) -> dict[str, Any]:
    store, zone = app.store, app.registry.zone(entity.zone)
    status = store.status(zone.id)
    own = status.entity(entity.id, number=entity.number)
    return {
        "entity": EntityAnswer.of(entity, own),
        "leads": lead_answers(own),
        "lead_label": lead_label,
        "bar": bar,
        "skill_words": skill_words,
        "warnings": list(accuracy_warnings(own)),
        "in_service": in_service(app, entity),
        "zone": zone,
        "status": status,
        "shared": status.reconstruction,
        "span": store.span(entity.number),
        "versions": [
            VersionAnswer.of(each) for each in store.versions(entity=entity.id, limit=VERSIONS)
        ],
        "quarantine": [
            QuarantinedReading.of(each, entity.id)
            for each in store.quarantine(entity=entity.number, limit=QUARANTINED)
        ],
        "events": [
            EventAnswer.of(each)
            for each in store.events(entity=entity.id, shared=True, limit=EVENTS)
        ],
    }


def _preview(app: AppContext, entity: RegisteredEntity, context: dict[str, Any]) -> Markup:
    if context["span"] is None:
        return Markup("")
    end = context["span"][1] + context["zone"].step
    start = end - SHOWN
    signals = app.signals.signals(entity, start=start, end=end)
    return preview(signals, start=start, end=end + AHEAD)
