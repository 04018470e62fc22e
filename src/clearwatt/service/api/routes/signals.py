"""Readings, forecasts, errors and thresholds of an entity over time."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from clearwatt.service.api.context import App, AppContext
from clearwatt.service.api.ranges import check_steps, past_range
from clearwatt.service.api.routes.errors import error_responses
from clearwatt.service.api.schemas.base import numbers
from clearwatt.service.api.schemas.entities import TimeWindow
from clearwatt.service.api.schemas.signals import (
    EntityLeads,
    LeadAnswer,
    LeadList,
    LeadQuery,
    SignalAnswer,
    SignalQuery,
    ThresholdStep,
    lead_answers,
)
from clearwatt.service.leads import reported_leads
from clearwatt.service.records import RegisteredEntity
from clearwatt.service.times import text, texts
from clearwatt.service.views.thresholds import threshold_steps
from clearwatt.service.views.zone_leads import pooled_power, zone_leads

router = APIRouter(tags=["history"])

MOST_ROWS = 500_000


@router.get("/v1/signals", responses=error_responses(404))
def signals(app: App, query: Annotated[SignalQuery, Query()]) -> SignalAnswer:
    """Readings, forecasts, reconstruction errors and thresholds over time."""
    entity = app.registry.entity(query.entity)
    zone = app.registry.zone(entity.zone)
    start, end = past_range(app, zone, query)
    check_steps((end - start) // zone.step, MOST_ROWS)
    whole = app.signals.signals(entity, start=start, end=end)
    found = whole.means(query.points) if query.by == "mean" else whole.extremes(query.points)
    status = app.store.status(zone.id)
    own, shared = status.entity(entity.id, number=entity.number), status.reconstruction
    steps = threshold_steps(
        app.store,
        entity,
        {"predictor": own.predictor, "autoencoder": own.encoder},
    )
    return SignalAnswer(
        entity=entity.id,
        unit=entity.unit,
        life=_lifetime(app, entity, zone.step),
        times=texts(found.times),
        measured=numbers(found.measured),
        forecast=numbers(found.forecast),
        error=numbers(found.error),
        reconstruction=numbers(found.reconstruction),
        threshold=own.component.threshold,
        reconstruction_threshold=shared.component.threshold if shared else None,
        thresholds=list(map(ThresholdStep.of, steps["predictor"])),
        reconstruction_thresholds=list(map(ThresholdStep.of, steps["autoencoder"])),
        leads=lead_answers(own),
    )


@router.get("/v1/signals/leads", responses=error_responses(404))
def leads(app: App, query: Annotated[LeadQuery, Query()]) -> LeadList:
    """Errors by lead over two weeks, of a zone and of each of its entities."""
    known, status = app.registry.zone(query.zone), app.store.status(query.zone)
    members = app.registry.zone_entities(known.id)
    own = {each.id: status.entity(each.id, number=each.number) for each in members}
    units = {each.unit for each in members}
    unit = units.pop() if len(units) == 1 else None
    by_lead = {
        lead: [each for one in own.values() for each in one.leads if each.lead == lead]
        for lead in reported_leads(known.step)
    }
    return LeadList(
        zone=known.id,
        unit=unit,
        leads=[
            LeadAnswer.of_zone(each, pooled_power(by_lead[each.lead]) if unit else None)
            for each in zone_leads(own.values())
        ],
        entities=[
            EntityLeads(entity=each.id, unit=each.unit, leads=lead_answers(own[each.id]))
            for each in members
        ],
    )


def _lifetime(app: AppContext, entity: RegisteredEntity, step: int) -> TimeWindow | None:
    span = app.store.span(entity.number)
    return None if span is None else TimeWindow(start=text(span[0]), end=text(span[1] + step))
