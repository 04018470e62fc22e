"""Health report of the service: ingestion, queues, forecasts, storage, zones."""

from __future__ import annotations

import platform
from dataclasses import asdict
from importlib.metadata import version

from clearwatt import __version__
from clearwatt.service.api.context import AppContext
from clearwatt.service.api.readiness import readiness
from clearwatt.service.api.schemas.cluster import NodeAnswer
from clearwatt.service.api.schemas.operations import (
    HealthReport,
    ModelCounts,
    ZoneReport,
    ZoneSummary,
)
from clearwatt.service.learner.supervisor import Health
from clearwatt.service.times import optional_text, text
from clearwatt.service.views.overview import ZoneView


def report(app: AppContext) -> HealthReport:
    """The report; from the store it reads only what has changed."""
    now, health, ready = app.clock(), app.learner.health, readiness(app)
    views, last = app.overview.zones(health), app.metrics.last_forecasts()
    heads, counts = app.store.heads(), dict(app.store.counts())
    newest = max((issued for issued, _ in last.values()), default=None)
    return HealthReport(
        at=text(int(now)),
        ready=not ready.reasons,
        reasons=ready.reasons,
        notes=ready.notes,
        readings_per_second=app.metrics.ingestion.per_second,
        forecast_age_seconds=None if newest is None else max(0.0, now - newest),
        queue=health.queue,
        training=health.training,
        size_bytes=app.store.size(),
        counts=counts,
        models=_models(views, counts.get("versions", 0)),
        learner=asdict(health),
        software=_software(),
        zones=[_zone(view, last.get(view.zone.id), heads, health) for view in _sort_zones(views)],
        nodes=[NodeAnswer.of(node) for node in app.store.nodes()],
    )


def _sort_zones(views: list[ZoneView]) -> list[ZoneView]:
    """Zones with errors first."""
    return sorted(views, key=lambda view: (not view.status.error, view.zone.id))


def _zone(
    view: ZoneView,
    last: tuple[float, int | None] | None,
    heads: dict[str, int],
    health: Health,
) -> ZoneReport:
    name = view.zone.id
    summary = ZoneSummary.of(view.status, heads.get(name, 0))
    forecast, weather = last or (None, None)
    return ZoneReport(
        **summary.model_dump(),
        updating=name in health.updating,
        forecast_at=None if forecast is None else text(int(forecast)),
        weather_at=optional_text(weather),
    )


def _models(views: list[ZoneView], versions: int) -> ModelCounts:
    statuses = [member.status for view in views for member in view.members]
    return ModelCounts(
        versions=versions,
        deployed=sum(bool(status.predictor) for status in statuses),
        awaiting=sum(bool(status.candidate) for status in statuses),
    )


def _software() -> dict[str, str]:
    names = ("torch", "numpy", "fastapi", "plotly")
    return {
        "clearwatt": __version__,
        "python": platform.python_version(),
        **{name: version(name) for name in names},
    }
