"""Names and deletion of zones and entities."""

from __future__ import annotations

from fastapi import APIRouter

from clearwatt.service.api import registry_changes
from clearwatt.service.api.context import App, RequestCaller
from clearwatt.service.api.routes.errors import error_responses
from clearwatt.service.api.schemas.base import Accepted, Id
from clearwatt.service.api.schemas.registry import DeletedZone, NewName, Renamed

router = APIRouter(responses=error_responses(404, 507))


@router.put("/v1/zones/{zone}/name", tags=["zones"])
def rename_zone(app: App, caller: RequestCaller, zone: Id, new: NewName) -> Renamed:
    """Change the name that people see; the id stays."""
    registry_changes.rename_zone(app, caller, zone, new.name)
    return Renamed(id=zone, name=new.name)


@router.put("/v1/entities/{entity}/name", tags=["entities"])
def rename_entity(app: App, caller: RequestCaller, entity: Id, new: NewName) -> Renamed:
    """Change the name that people see; the id stays."""
    registry_changes.rename_entity(app, caller, entity, new.name)
    return Renamed(id=entity, name=new.name)


@router.delete("/v1/zones/{zone}", tags=["zones"])
def delete_zone(app: App, caller: RequestCaller, zone: Id) -> DeletedZone:
    """Delete a zone with its entities, readings, weather, forecasts and models, for good."""
    members = registry_changes.delete_zone(app, caller, zone)
    return DeletedZone(id=zone, entities=[member.id for member in members])


@router.delete("/v1/entities/{entity}", tags=["entities"], status_code=202)
def delete_entity(app: App, caller: RequestCaller, entity: Id) -> Accepted:
    """Delete an entity with its readings, forecasts and models, for good.

    Others of its zone forecast as before.
    """
    return registry_changes.delete_entity(app, caller, entity)
