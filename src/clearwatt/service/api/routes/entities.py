"""Entities: register, find, look at."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response

from clearwatt.service.api.context import Here
from clearwatt.service.api.routes.errors import documented
from clearwatt.service.api.schemas.base import Id
from clearwatt.service.api.schemas.entities import (
    EntityAnswer,
    EntityPage,
    EntityQuery,
    EntityRecord,
    NewEntities,
    NewEntity,
    OneOrMany,
    Registered,
    entity_content,
)
from clearwatt.service.records import Entity, Plain

router = APIRouter(tags=["entities"])

Pair = tuple[Entity, Plain]
"""An entity and where it stands."""


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
    return Registered(entities=[EntityRecord.registered(each) for each in added], created=created)


@router.get("/v1/entities", responses=documented())
def list_entities(here: Here, asked: Annotated[EntityQuery, Query()]) -> EntityPage:
    """Find entities by zone, kind, state or a part of their name."""
    statuses = here.store.statuses(None if asked.zone is None else [asked.zone])
    known = [entity for entity in here.registry.roster.entities.values() if _fits(entity, asked)]
    pairs = [(entity, entity_content(entity, statuses.get(entity.zone))) for entity in known]
    pairs = [pair for pair in pairs if asked.state in (None, _state(pair))]
    pairs.sort(key=lambda pair: pair[0].id)
    pairs.sort(key=_KEYS[asked.sort.lstrip("-")], reverse=asked.sort.startswith("-"))
    page = pairs[asked.offset : asked.offset + asked.limit]
    return EntityPage(
        entities=[EntityAnswer.of(entity, content) for entity, content in page],
        total=len(pairs),
        limit=asked.limit,
        offset=asked.offset,
    )


@router.get("/v1/entities/{entity}", responses=documented(404))
def show_entity(here: Here, entity: Id) -> EntityAnswer:
    """One entity and where it stands."""
    known = here.registry.entity(entity)
    status = here.store.statuses([known.zone]).get(known.zone)
    return EntityAnswer.of(known, entity_content(known, status))


def _entity(new: NewEntity) -> Entity:
    return Entity(new.id, new.zone, new.kind, new.capacity, new.unit, new.name, dict(new.extra))


def _fits(entity: Entity, asked: EntityQuery) -> bool:
    part = (asked.q or "").casefold()
    return (
        asked.zone in (None, entity.zone)
        and asked.kind in (None, entity.kind)
        and (part in entity.id.casefold() or part in entity.name.casefold())
    )


def _state(pair: Pair) -> str:
    return str(pair[1].get("state", "waiting"))


def _error(pair: Pair) -> float:
    """The live error of the last day; one that is not known is the smallest."""
    error = pair[1].get("live", {}).get("rmse_day")
    return -1.0 if error is None else float(error)


_KEYS: dict[str, Callable[[Pair], Any]] = {
    "id": lambda pair: pair[0].id,
    "name": lambda pair: pair[0].name,
    "state": _state,
    "error": _error,
}
