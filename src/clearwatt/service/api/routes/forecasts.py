"""What goes out: forecasts, and forecasts as they were given."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from clearwatt.errors import DataError
from clearwatt.service.api.context import Here, Parts
from clearwatt.service.api.ranges import check_steps, forecast_range, past_range
from clearwatt.service.api.routes.errors import documented
from clearwatt.service.api.schemas.forecasts import (
    MOST_STEPS,
    ForecastList,
    ForecastQuery,
    VintageAnswer,
    VintageList,
    VintageQuery,
)
from clearwatt.service.api.threads import compute_alone
from clearwatt.service.records import Entity

router = APIRouter(tags=["forecasts"])


@router.get("/v1/forecasts", responses=documented(404))
def forecast(here: Here, asked: Annotated[ForecastQuery, Query()]) -> ForecastList:
    """Forecasts by the models in service, or by a fallback that says so; never nothing.

    From now on for 48 hours, unless start or end say otherwise; with calibrated quantiles.
    """
    compute_alone()
    entities = _entities(here, asked)
    if not entities:
        return ForecastList(forecasts=[])
    zone = here.registry.zone(entities[0].zone)
    start, end = forecast_range(here, zone, asked)
    step = min(here.registry.zone(name).step for name in {each.zone for each in entities})
    check_steps(len(entities) * ((end - start) // step), MOST_STEPS)
    levels = asked.level if asked.intervals else []
    found = here.forecaster.forecast([each.id for each in entities], start, end, levels=levels)
    return ForecastList.of(found)


@router.get("/v1/forecasts/vintages", responses=documented(404))
def vintages(here: Here, asked: Annotated[VintageQuery, Query()]) -> VintageList:
    """Which model said what when about these times."""
    entity = here.registry.entity(asked.entity)
    start, end = past_range(here, here.registry.zone(entity.zone), asked)
    found = here.store.vintages(
        entity.id, start=start, end=end, issued_before=asked.issued_before, limit=asked.limit
    )
    answers = [VintageAnswer.of(each) for each in found]
    return VintageList(entity=entity.id, unit=entity.unit, vintages=answers)


def _entities(here: Parts, asked: ForecastQuery) -> list[Entity]:
    if bool(asked.entity) == (asked.zone is not None):
        raise DataError("name either entities (entity=a&entity=b) or a zone (zone=z)")
    if asked.zone is not None:
        return here.registry.of_zone(here.registry.zone(asked.zone).id)
    return [here.registry.entity(name) for name in dict.fromkeys(asked.entity)]
