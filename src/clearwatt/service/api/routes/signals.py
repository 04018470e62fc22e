"""What was measured and forecast of an entity, the errors of both models and their thresholds."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from clearwatt.service.api.context import Here, Parts
from clearwatt.service.api.ranges import check_steps, past_range
from clearwatt.service.api.routes.errors import documented
from clearwatt.service.api.schemas.base import numbers
from clearwatt.service.api.schemas.entities import Window, entity_content
from clearwatt.service.api.schemas.signals import SignalAnswer, SignalQuery, ThresholdStep
from clearwatt.service.records import Entity
from clearwatt.service.times import text, texts
from clearwatt.service.views.thresholds import threshold_steps

router = APIRouter(tags=["history"])

MOST_ROWS = 500_000


@router.get("/v1/signals", responses=documented(404))
def signals(here: Here, asked: Annotated[SignalQuery, Query()]) -> SignalAnswer:
    """What was measured, forecast and reconstructed, beside the thresholds in force."""
    entity = here.registry.entity(asked.entity)
    zone = here.registry.zone(entity.zone)
    start, end = past_range(here, zone, asked)
    check_steps((end - start) // zone.step, MOST_ROWS)
    whole = here.signals.signals(entity, start=start, end=end)
    found = whole.thinned(asked.points) if asked.by == "mean" else whole.extremes(asked.points)
    status = here.store.statuses([zone.id]).get(zone.id)
    own = entity_content(entity, status)
    steps = threshold_steps(
        here.store,
        entity,
        {"predictor": own.get("predictor"), "autoencoder": own.get("encoder")},
    )
    shared = (status.content.get("reconstruction") if status else None) or {}
    return SignalAnswer(
        entity=entity.id,
        unit=entity.unit,
        life=_life(here, entity, zone.step),
        times=texts(found.times),
        measured=numbers(found.measured),
        forecast=numbers(found.forecast),
        error=numbers(found.error),
        reconstruction=numbers(found.reconstruction),
        threshold=own.get("threshold"),
        reconstruction_threshold=shared.get("threshold"),
        thresholds=list(map(ThresholdStep.of, steps["predictor"])),
        reconstruction_thresholds=list(map(ThresholdStep.of, steps["autoencoder"])),
    )


def _life(here: Parts, entity: Entity, step: int) -> Window | None:
    span = here.store.span(entity.number)
    return None if span is None else Window(start=text(span[0]), end=text(span[1] + step))
