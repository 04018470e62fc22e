"""Incoming weather forecasts and readings."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from clearwatt.service.api.context import App, AppContext
from clearwatt.service.api.measurement_intake import CheckedBatch, batch_entities, check_batch
from clearwatt.service.api.ranges import check_steps, past_range
from clearwatt.service.api.routes.errors import error_responses
from clearwatt.service.api.schemas.base import numbers
from clearwatt.service.api.schemas.measurements import (
    BatchReceipt,
    MeasurementQuery,
    MeasurementSeries,
    ReadingBatch,
    Rejected,
)
from clearwatt.service.api.schemas.weather import NewWeather, WeatherReceipt
from clearwatt.service.api.weather_intake import check_weather
from clearwatt.service.records import Flag, Receipt
from clearwatt.service.registry import RegistrySnapshot
from clearwatt.service.store import UnregisteredEntityError
from clearwatt.service.times import text, texts

router = APIRouter()

MOST_READ = 200_000
"""Maximum readings of one answer."""


@router.post("/v1/weather", tags=["weather"], responses=error_responses(404, 507))
def add_weather(app: App, new: NewWeather) -> WeatherReceipt:
    """Store a weather forecast; the latest issue is used, earlier ones are kept."""
    issue = check_weather(new, app.registry.zone(new.zone), now=app.clock())
    fresh = app.store.add_weather(issue, at=app.clock())
    app.forecaster.forget_weather(issue.zone)
    app.metrics.count_weather(issue.zone)
    app.learner.wake()
    return WeatherReceipt(
        zone=issue.zone, issued_at=text(issue.issued_at), times=len(issue.times), new=fresh
    )


@router.post("/v1/measurements", tags=["measurements"], responses=error_responses(507))
def add_measurements(app: App, batch: ReadingBatch) -> BatchReceipt:
    """Store readings; a repeated one changes nothing, another value is a correction.

    Answered when they are on disk. With on_error "reject" (the default) one invalid item rejects
    the whole batch; with "skip" the valid ones are stored and the others reported.
    """
    try:
        checked, receipt = _store_readings(app, batch, app.registry.find_all(batch_entities(batch)))
    except UnregisteredEntityError:  # deleted meanwhile: only its own items are invalid
        checked, receipt = _store_readings(app, batch, app.registry.refresh())
    app.metrics.count_readings(receipt, rejected=len(checked.rejected))
    return BatchReceipt(
        new=receipt.new,
        duplicates=receipt.duplicates,
        corrections=receipt.corrections,
        rejected=[Rejected(where=at, reason=why) for at, why in checked.rejected.items()],
    )


@router.get("/v1/measurements", tags=["measurements"], responses=error_responses(404))
def show_measurements(app: App, query: Annotated[MeasurementQuery, Query()]) -> MeasurementSeries:
    """Current readings of an entity; default range: the newest day."""
    entity = app.registry.entity(query.entity)
    zone = app.registry.zone(entity.zone)
    start, end = past_range(app, zone, query)
    check_steps((end - start) // zone.step, MOST_READ)
    found = app.store.readings(entity.number, start=start, end=end)
    words = [flag.name.lower() for flag in Flag]
    return MeasurementSeries.model_validate(
        {
            "entity": entity.id,
            "unit": entity.unit,
            "times": texts(found.times),
            "values": numbers(found.values),
            "flags": [words[flag] for flag in found.flags.tolist()],
        }
    )


def _store_readings(
    app: AppContext, batch: ReadingBatch, snapshot: RegistrySnapshot
) -> tuple[CheckedBatch, Receipt]:
    """Store the valid readings of a batch."""
    checked = check_batch(batch, snapshot, now=app.clock())
    if not len(checked.readings):
        return checked, Receipt(0, 0, 0)
    receipt = app.store.add_readings(checked.readings, at=app.clock())
    app.learner.wake()
    return checked, receipt
