"""Commands for an entity or a whole zone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Body

from clearwatt.service.api.commands import command_entity, command_zone
from clearwatt.service.api.context import App, AppContext, RequestCaller
from clearwatt.service.api.routes.errors import error_responses
from clearwatt.service.api.schemas.base import Accepted, EmptyBody, Id
from clearwatt.service.api.schemas.commands import Approval, Confirmation, Exclusion, Warmup, Window
from clearwatt.service.api.schemas.entities import EntityAnswer, WindowList
from clearwatt.service.records import RegisteredEntity
from clearwatt.service.settings import ZoneSettings

router = APIRouter(tags=["commands"], responses=error_responses(404, 507))

MaybeEmptyBody = Annotated[EmptyBody | None, Body()]
MaybeConfirmation = Annotated[Confirmation | None, Body()]
MaybeWarmup = Annotated[Warmup | None, Body()]


@router.post("/v1/entities/{entity}/warmup", status_code=202)
def warm_up_entity(
    app: App, caller: RequestCaller, entity: Id, span: MaybeWarmup = None
) -> Accepted:
    """Train an entity's first model from its stored readings and weather."""
    registered = app.registry.entity(entity)
    arguments = {**_span(span), **_priors(app, registered.zone, [registered])}
    return command_entity(app, caller, "warmup", entity=entity, arguments=arguments)


@router.post("/v1/zones/{zone}/warmup", status_code=202)
def warm_up_zone(app: App, caller: RequestCaller, zone: Id, span: MaybeWarmup = None) -> Accepted:
    """Train the first model of every entity of a zone that has readings and no model."""
    members = app.registry.zone_entities(app.registry.zone(zone).id)
    arguments = {**_span(span), **_priors(app, zone, members)}
    return command_zone(app, caller, "warmup", zone=zone, arguments=arguments)


@router.post("/v1/entities/{entity}/hold", status_code=202)
def hold_entity(app: App, caller: RequestCaller, entity: Id, _: MaybeEmptyBody = None) -> Accepted:
    """Pause learning; forecasts continue."""
    return command_entity(app, caller, "hold", entity=entity, arguments={})


@router.post("/v1/zones/{zone}/hold", status_code=202)
def hold_zone(app: App, caller: RequestCaller, zone: Id, _: MaybeEmptyBody = None) -> Accepted:
    """Pause learning in a whole zone; forecasts continue."""
    return command_zone(app, caller, "hold", zone=zone, arguments={})


@router.post("/v1/entities/{entity}/resume", status_code=202)
def resume_entity(
    app: App, caller: RequestCaller, entity: Id, _: MaybeEmptyBody = None
) -> Accepted:
    """Resume learning."""
    return command_entity(app, caller, "resume", entity=entity, arguments={})


@router.post("/v1/zones/{zone}/resume", status_code=202)
def resume_zone(app: App, caller: RequestCaller, zone: Id, _: MaybeEmptyBody = None) -> Accepted:
    """Resume learning in a whole zone."""
    return command_zone(app, caller, "resume", zone=zone, arguments={})


@router.put("/v1/entities/{entity}/approval", status_code=202)
def entity_approval(app: App, caller: RequestCaller, entity: Id, approval: Approval) -> Accepted:
    """Set whether a person must approve an entity's new versions."""
    arguments = {"required": approval.required}
    return command_entity(app, caller, "approval", entity=entity, arguments=arguments)


@router.put("/v1/zones/{zone}/approval", status_code=202)
def zone_approval(app: App, caller: RequestCaller, zone: Id, approval: Approval) -> Accepted:
    """Set whether a person must approve new versions of a zone."""
    return command_zone(
        app, caller, "approval", zone=zone, arguments={"required": approval.required}
    )


@router.post("/v1/entities/{entity}/exclusions", status_code=202)
def exclude(app: App, caller: RequestCaller, entity: Id, window: Exclusion) -> Accepted:
    """Exclude a window from learning; what was learned from it is forgotten."""
    return command_entity(app, caller, "exclude", entity=entity, arguments=window.model_dump())


@router.post("/v1/entities/{entity}/exclusions/undo", status_code=202)
def include(app: App, caller: RequestCaller, entity: Id, window: Window) -> Accepted:
    """Undo an exclusion: its readings are learned as if they came late."""
    return command_entity(app, caller, "include", entity=entity, arguments=window.model_dump())


@router.post("/v1/entities/{entity}/suspicion/confirm", status_code=202)
def confirm(
    app: App, caller: RequestCaller, entity: Id, confirmation: MaybeConfirmation = None
) -> Accepted:
    """Say that the readings of a suspected meter are real: they are learned from."""
    reason = confirmation.reason if confirmation else ""
    return command_entity(app, caller, "confirm", entity=entity, arguments={"reason": reason})


@router.get("/v1/entities/{entity}/exclusions")
def exclusions(app: App, entity: Id) -> WindowList:
    """Windows that an entity does not learn from."""
    known = app.registry.entity(entity)
    status = app.store.status(known.zone).entity(known.id, number=known.number)
    return WindowList(exclusions=EntityAnswer.of(known, status).exclusions)


def _priors(
    app: AppContext, zone: str, entities: Sequence[RegisteredEntity]
) -> dict[str, dict[str, str]]:
    """Priors that entities start from if their history is short; nothing if there are none."""
    registered = app.registry.zone(zone)
    settings = ZoneSettings.read(dict(app.store.status(zone).settings or registered.settings))
    found = app.priors.digests(registered, entities) if settings.forecaster == "adaptive" else {}
    return {"priors": found} if found else {}


def _span(span: Warmup | None) -> dict[str, Any]:
    return span.model_dump(exclude_none=True) if span else {}
