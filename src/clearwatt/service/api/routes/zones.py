"""Zones: register, list, show, change settings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Body, Response

from clearwatt.data.inputs import is_neighbour
from clearwatt.errors import DataError
from clearwatt.service.api.commands import command_zone
from clearwatt.service.api.context import App, AppContext, RequestCaller
from clearwatt.service.api.routes.errors import error_responses
from clearwatt.service.api.schemas.base import Accepted, Id
from clearwatt.service.api.schemas.zones import NewZone, SomeSettings, ZoneAnswer, ZoneList
from clearwatt.service.records import Zone
from clearwatt.service.settings import WEATHER, ZoneSettings
from clearwatt.service.status import ZoneStatus
from clearwatt.weather import default_variables, require_known

router = APIRouter(tags=["zones"])


@router.post(
    "/v1/zones",
    status_code=201,
    responses={
        **error_responses(409, 507),
        200: {"model": ZoneAnswer, "description": "It was registered before"},
    },
)
def register_zone(app: App, new: NewZone, response: Response) -> ZoneAnswer:
    """Register a zone; repeating the call changes nothing."""
    zone = _zone(app, new)
    if not app.registry.add_zone(zone):
        response.status_code = 200
    return _answer(app, app.registry.zone(zone.id))


@router.get("/v1/zones", responses=error_responses())
def list_zones(app: App) -> ZoneList:
    """All zones with their status."""
    snapshot, statuses, heads = app.registry.snapshot, app.store.statuses(), app.store.heads()
    counts = dict.fromkeys(snapshot.zones, 0)
    for entity in snapshot.entities.values():
        counts[entity.zone] += 1
    return ZoneList(
        zones=[
            ZoneAnswer.of(
                zone,
                statuses.get(name) or ZoneStatus(name),
                entities=counts[name],
                journal=heads.get(name, 0),
            )
            for name, zone in sorted(snapshot.zones.items())
        ]
    )


@router.get("/v1/zones/{zone}", responses=error_responses(404))
def show_zone(app: App, zone: Id) -> ZoneAnswer:
    """One zone with its status."""
    return _answer(app, app.registry.zone(zone))


@router.put("/v1/zones/{zone}/settings", status_code=202, responses=error_responses(404, 507))
def change_settings(
    app: App, caller: RequestCaller, zone: Id, settings: Annotated[SomeSettings, Body()]
) -> Accepted:
    """Change settings of a zone; those not given stay as they are."""
    registered = app.registry.zone(zone)
    before = app.store.status(zone).settings or registered.settings
    # Weather needs coordinates, and one of them may be known.
    known = {name: before[name] for name in WEATHER if before.get(name) is not None}
    _check_weather(ZoneSettings.read({**known, **settings}), registered.variables)
    return command_zone(app, caller, "settings", zone=zone, arguments=settings)


def _zone(app: AppContext, new: NewZone) -> Zone:
    """The zone to register; settings not given stay, or come from the service's defaults."""
    registered = app.registry.snapshot.zones.get(new.id)
    basis = app.config.zone_defaults if registered is None else registered.settings
    settings = {**basis, **new.settings}
    checked = ZoneSettings.read(settings)
    variables = tuple(new.variables)
    if checked.weather is not None and not variables:
        variables = registered.variables if registered else default_variables((), step=new.step)
    if not variables:
        raise DataError("variables: none is given; name the weather variables that you will send")
    _check_weather(checked, variables)
    return Zone(
        id=new.id,
        step=new.step,
        variables=variables,
        timezone=new.timezone,
        name=new.name,
        settings=settings,
    )


def _check_weather(settings: ZoneSettings, variables: Sequence[str]) -> None:
    if settings.weather is not None:
        require_known([name for name in variables if not is_neighbour(name)])


def _answer(app: AppContext, zone: Zone) -> ZoneAnswer:
    return ZoneAnswer.of(
        zone,
        app.store.status(zone.id),
        entities=len(app.registry.zone_entities(zone.id)),
        journal=app.store.heads().get(zone.id, 0),
    )
