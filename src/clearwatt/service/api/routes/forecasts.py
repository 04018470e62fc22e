"""Forecasts, and forecasts issued in the past."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from clearwatt.errors import DataError
from clearwatt.service.api.context import App, AppContext
from clearwatt.service.api.ranges import check_steps, forecast_range, past_range
from clearwatt.service.api.routes.errors import error_responses
from clearwatt.service.api.schemas.forecasts import (
    MOST_STEPS,
    ForecastList,
    ForecastQuery,
    VintageAnswer,
    VintageList,
    VintageQuery,
)
from clearwatt.service.api.threads import use_one_thread
from clearwatt.service.records import RegisteredEntity
from clearwatt.service.store import StoreDamagedError, StoreUnavailableError
from clearwatt.service.views.backlog import Backlog, find_backlog

router = APIRouter(tags=["forecasts"])


@router.get("/v1/forecasts", responses=error_responses(404))
def forecast(app: App, query: Annotated[ForecastQuery, Query()]) -> ForecastList:
    """Forecasts by the deployed models, or by a fallback that is marked as such.

    Default range: 48 hours from now, or from the newest reading sent if that is more than a week
    old. Calibrated quantiles are included. `behind` lists zones whose learner is behind.
    """
    use_one_thread()
    entities = _entities(app, query)
    if not entities:
        return ForecastList(forecasts=[])
    zone = app.registry.zone(entities[0].zone)
    start, end = forecast_range(app, zone, query)
    step = min(app.registry.zone(name).step for name in {each.zone for each in entities})
    check_steps(len(entities) * ((end - start) // step), MOST_STEPS)
    levels = query.level if query.intervals else []
    found = app.forecaster.forecast([each.id for each in entities], start, end, levels=levels)
    return ForecastList.of(found, _backlogs(app, entities))


@router.get("/v1/forecasts/vintages", responses=error_responses(404))
def vintages(app: App, query: Annotated[VintageQuery, Query()]) -> VintageList:
    """Forecasts issued in the past for these times, with their models."""
    entity = app.registry.entity(query.entity)
    start, end = past_range(app, app.registry.zone(entity.zone), query)
    found = app.store.vintages(
        entity.id, start=start, end=end, issued_before=query.issued_before, limit=query.limit
    )
    answers = [VintageAnswer.of(each) for each in found]
    return VintageList(entity=entity.id, unit=entity.unit, vintages=answers)


def _backlogs(app: AppContext, entities: list[RegisteredEntity]) -> list[Backlog]:
    """The zones of entities whose learner is behind; none while the store does not answer."""
    zones = [app.registry.zone(name) for name in sorted({entity.zone for entity in entities})]
    try:
        found = [
            find_backlog(app.store, each, app.registry.zone_entities(each.id), now=app.clock())
            for each in zones
        ]
    except (StoreUnavailableError, StoreDamagedError):
        return []  # forecasts are from memory
    return [backlog for backlog in found if backlog is not None]


def _entities(app: AppContext, query: ForecastQuery) -> list[RegisteredEntity]:
    if bool(query.entity) == (query.zone is not None):
        raise DataError("name either entities (entity=a&entity=b) or a zone (zone=z)")
    if query.zone is not None:
        return app.registry.zone_entities(app.registry.zone(query.zone).id)
    return [app.registry.entity(name) for name in dict.fromkeys(query.entity)]
