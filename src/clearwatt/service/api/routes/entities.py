"""Entities: register, list, show."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response

from clearwatt.service.api.context import App
from clearwatt.service.api.routes.errors import error_responses
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
)
from clearwatt.service.records import RegisteredEntity
from clearwatt.service.status import EntityStatus, ZoneStatus

router = APIRouter(tags=["entities"])

EntityWithStatus = tuple[RegisteredEntity, EntityStatus]


@router.post(
    "/v1/entities",
    status_code=201,
    responses={
        **error_responses(409, 507),
        200: {"model": Registered, "description": "All were registered before"},
    },
)
def register_entities(app: App, new: OneOrMany, response: Response) -> Registered:
    """Register one entity or several, all or none; repeating the call changes nothing."""
    wanted = new.entities if isinstance(new, NewEntities) else [new]
    added, created = app.registry.add_entities([_entity(each) for each in wanted])
    if not created:
        response.status_code = 200
    return Registered(entities=[EntityRecord.of_entity(each) for each in added], created=created)


@router.get("/v1/entities", responses=error_responses())
def list_entities(app: App, query: Annotated[EntityQuery, Query()]) -> EntityPage:
    """List entities by zone, kind, state or part of their name."""
    statuses = app.store.statuses(None if query.zone is None else [query.zone])
    known = [entity for entity in app.registry.snapshot.entities.values() if _fits(entity, query)]
    pairs = [(entity, _status(entity, statuses)) for entity in known]
    pairs = [pair for pair in pairs if query.state in (None, _state(pair))]
    pairs.sort(key=lambda pair: pair[0].id)
    pairs.sort(key=_KEYS[query.sort.lstrip("-")], reverse=query.sort.startswith("-"))
    page = pairs[query.offset : query.offset + query.limit]
    return EntityPage(
        entities=[EntityAnswer.of(entity, status) for entity, status in page],
        total=len(pairs),
        limit=query.limit,
        offset=query.offset,
    )


@router.get("/v1/entities/{entity}", responses=error_responses(404))
def show_entity(app: App, entity: Id) -> EntityAnswer:
    """One entity with its status."""
    known = app.registry.entity(entity)
    status = app.store.status(known.zone).entity(known.id, number=known.number)
    return EntityAnswer.of(known, status)


def _entity(new: NewEntity) -> RegisteredEntity:
    return RegisteredEntity(
        new.id, new.zone, new.kind, new.capacity, new.unit, new.name, dict(new.extra)
    )


def _fits(entity: RegisteredEntity, query: EntityQuery) -> bool:
    part = (query.q or "").casefold()
    return (
        query.zone in (None, entity.zone)
        and query.kind in (None, entity.kind)
        and (part in entity.id.casefold() or part in entity.name.casefold())
    )


def _status(entity: RegisteredEntity, statuses: Mapping[str, ZoneStatus]) -> EntityStatus:
    zone = statuses.get(entity.zone)
    return EntityStatus() if zone is None else zone.entity(entity.id, number=entity.number)


def _state(pair: EntityWithStatus) -> str:
    return pair[1].state


def _error(pair: EntityWithStatus) -> float:
    """Sort key: the live error of the last day; an unknown one sorts lowest."""
    error = pair[1].live.rmse_day
    return -1.0 if error is None else error


_KEYS: dict[str, Callable[[EntityWithStatus], Any]] = {
    "id": lambda pair: pair[0].id,
    "name": lambda pair: pair[0].name,
    "state": _state,
    "error": _error,
}
