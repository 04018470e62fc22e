"""Probes, metrics and status of the service itself."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict

from fastapi import APIRouter, Response

from clearwatt import __version__
from clearwatt.service.api.context import App
from clearwatt.service.api.readiness import readiness
from clearwatt.service.api.routes.errors import error_responses
from clearwatt.service.api.schemas.operations import (
    HealthReport,
    ReadinessAnswer,
    StatusAnswer,
    ZoneSummary,
)
from clearwatt.service.api.service_report import report
from clearwatt.service.metrics import CONTENT_TYPE
from clearwatt.service.status import ZoneStatus

router = APIRouter(tags=["operations"])


@router.get("/healthz")
async def healthy() -> dict[str, str]:
    """Whether the process answers."""
    return {"status": "ok"}


@router.get(
    "/readyz",
    responses={503: {"model": ReadinessAnswer, "description": "Not ready, and the reasons"}},
)
def ready(app: App, response: Response) -> ReadinessAnswer:
    """Whether the store answers and the learner runs."""
    health = readiness(app)
    if health.reasons:
        response.status_code = 503
    return health


@router.get(
    "/metrics",
    response_class=Response,
    responses={
        **error_responses(),
        200: {"content": {"text/plain": {}}, "description": "For Prometheus"},
    },
)
def metrics(app: App) -> Response:
    """All metrics in the text format of Prometheus."""
    return Response(app.metrics.render(), media_type=CONTENT_TYPE)


@router.get("/v1/status", responses=error_responses())
def status(app: App) -> StatusAnswer:
    """Status of the service and its zones."""
    snapshot, statuses, heads = app.registry.snapshot, app.store.statuses(), app.store.heads()
    states: Counter[str] = Counter(
        entity.state for status in statuses.values() for entity in status.entities.values()
    )
    unseen = len(snapshot.entities) - states.total()
    return StatusAnswer(
        version=__version__,
        open=app.is_open,
        zones=[
            ZoneSummary.of(statuses.get(name) or ZoneStatus(name), heads.get(name, 0))
            for name in sorted(snapshot.zones)
        ],
        entities=dict(states + Counter({"waiting": unseen})),
        counts=dict(app.store.counts()),
        size_bytes=app.store.size(),
        learner=asdict(app.learner.health),
    )


@router.get("/v1/health", responses=error_responses())
def health(app: App) -> HealthReport:
    """Health report: ingestion, queues, forecasts, storage, zones."""
    return report(app)
