"""What a person tells an entity, or a whole zone, to do."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Body

from clearwatt.service.api.commands import order_entity, order_zone
from clearwatt.service.api.context import By, Here
from clearwatt.service.api.routes.errors import documented
from clearwatt.service.api.schemas.base import Accepted, Id, Nothing
from clearwatt.service.api.schemas.commands import Approval, Exclusion, Warmup
from clearwatt.service.api.schemas.entities import EntityAnswer, WindowList, entity_content

router = APIRouter(tags=["commands"], responses=documented(404, 507))

MaybeNothing = Annotated[Nothing | None, Body()]
MaybeWarmup = Annotated[Warmup | None, Body()]


@router.post("/v1/entities/{entity}/warmup", status_code=202)
def warm_up_entity(here: Here, by: By, entity: Id, span: MaybeWarmup = None) -> Accepted:
    """Let an entity learn its first model from the readings and weather that are there."""
    return order_entity(here, by, "warmup", entity=entity, arguments=_span(span))


@router.post("/v1/zones/{zone}/warmup", status_code=202)
def warm_up_zone(here: Here, by: By, zone: Id, span: MaybeWarmup = None) -> Accepted:
    """Let every entity of a zone that has readings and no model learn its first."""
    return order_zone(here, by, "warmup", zone=zone, arguments=_span(span))


@router.post("/v1/entities/{entity}/hold", status_code=202)
def hold_entity(here: Here, by: By, entity: Id, _: MaybeNothing = None) -> Accepted:
    """Stop learning; forecasts go on."""
    return order_entity(here, by, "hold", entity=entity, arguments={})


@router.post("/v1/zones/{zone}/hold", status_code=202)
def hold_zone(here: Here, by: By, zone: Id, _: MaybeNothing = None) -> Accepted:
    """Stop learning in a whole zone; forecasts go on."""
    return order_zone(here, by, "hold", zone=zone, arguments={})


@router.post("/v1/entities/{entity}/resume", status_code=202)
def resume_entity(here: Here, by: By, entity: Id, _: MaybeNothing = None) -> Accepted:
    """Learn again."""
    return order_entity(here, by, "resume", entity=entity, arguments={})


@router.post("/v1/zones/{zone}/resume", status_code=202)
def resume_zone(here: Here, by: By, zone: Id, _: MaybeNothing = None) -> Accepted:
    """Learn again in a whole zone."""
    return order_zone(here, by, "resume", zone=zone, arguments={})


@router.put("/v1/entities/{entity}/approval", status_code=202)
def entity_approval(here: Here, by: By, entity: Id, approval: Approval) -> Accepted:
    """Say whether a person must approve an entity's new versions."""
    arguments = {"required": approval.required}
    return order_entity(here, by, "approval", entity=entity, arguments=arguments)


@router.put("/v1/zones/{zone}/approval", status_code=202)
def zone_approval(here: Here, by: By, zone: Id, approval: Approval) -> Accepted:
    """Say whether a person must approve any new version of a zone."""
    return order_zone(here, by, "approval", zone=zone, arguments={"required": approval.required})


@router.post("/v1/entities/{entity}/exclusions", status_code=202)
def exclude(here: Here, by: By, entity: Id, window: Exclusion) -> Accepted:
    """Forget what was learned from a window and never learn from it."""
    return order_entity(here, by, "exclude", entity=entity, arguments=window.model_dump())


@router.get("/v1/entities/{entity}/exclusions")
def exclusions(here: Here, entity: Id) -> WindowList:
    """Windows an entity does not learn from."""
    known = here.registry.entity(entity)
    status = here.store.statuses([known.zone]).get(known.zone)
    return WindowList(exclusions=EntityAnswer.of(known, entity_content(known, status)).exclusions)


def _span(span: Warmup | None) -> dict[str, Any]:
    return span.model_dump(exclude_none=True) if span else {}
