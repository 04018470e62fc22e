"""Entities: register, find, look at."""

from __future__ import annotations

import math
from typing import Annotated

from fastapi import APIRouter, Query, Response

from clearwatt.service.parts import Here
from clearwatt.service.records import Entity
from clearwatt.service.routes.errors import documented
from clearwatt.service.schemas.base import Id
from clearwatt.service.schemas.entities import (
    EntityAnswer,
    EntityPage,
    EntityQuery,
    EntityRecord,
    NewEntities,
    NewEntity,
    OneOrMany,
    Registered,
)

router = APIRouter(tags=["entities"])


@router.post(
    "/v1/entities",
    status_code=201,
    responses={
        **documented(409, 507),
        200: {"model": Registered, "description": "All were registered before"},
    },
)
def register_entities(here: Here, new: OneOrMany, response: Response) -> Registered:
    """Register an entity, or many at once: all or none; the same again changes nothing."""
    wanted = new.entities if isinstance(new, NewEntities) else [new]
    added, created = here.registry.add_entities([_entity(each) for each in wanted])
    if not created:
        response.status_code = 200
    return Registered(entities=[EntityRecord.of(each) for each in added], created=created)


@router.get("/v1/entities", responses=documented())
def list_entities(here: Here, asked: Annotated[EntityQuery, Query()]) -> EntityPage:
    """Find entities by zone, kind, state or a part of their name."""
    statuses = here.store.statuses(None if asked.zone is None else [asked.zone])
    roster = here.registry.refresh()
    known = [entity for entity in roster.entities.values() if _fits(entity, asked)]
    answers = [EntityAnswer.standing(each, statuses.get(each.zone)) for each in known]
    found = _sorted([each for each in answers if asked.state in (None, each.state)], asked.sort)
    page = found[asked.offset : asked.offset + asked.limit]
    return EntityPage(entities=page, total=len(found), limit=asked.limit, offset=asked.offset)


@router.get("/v1/entities/{entity}", responses=documented(404))
def show_entity(here: Here, entity: Id) -> EntityAnswer:
    """One entity and where it stands."""
    known = here.registry.entity(entity)
    return EntityAnswer.standing(known, here.store.statuses([known.zone]).get(known.zone))


def _entity(new: NewEntity) -> Entity:
    return Entity(new.id, new.zone, new.kind, new.capacity, new.unit, new.name, dict(new.extra))


def _fits(entity: Entity, asked: EntityQuery) -> bool:
    part = (asked.q or "").casefold()
    return (
        asked.zone in (None, entity.zone)
        and asked.kind in (None, entity.kind)
        and (part in entity.id.casefold() or part in entity.name.casefold())
    )


def _sorted(found: list[EntityAnswer], sort: str) -> list[EntityAnswer]:
    """In order; an entity without a live error comes last either way."""
    name, down = sort.lstrip("-"), sort.startswith("-")
    found = sorted(found, key=lambda each: each.id)
    if name == "error":
        unknown = -math.inf if down else math.inf
        return sorted(
            found,
            key=lambda each: unknown if each.live.rmse_day is None else each.live.rmse_day,
            reverse=down,
        )
    return sorted(found, key=lambda each: str(getattr(each, name)), reverse=down)
