"""Readiness of the service: store and learner."""

from __future__ import annotations

from clearwatt.errors import ClearwattError
from clearwatt.service.api.context import AppContext
from clearwatt.service.api.schemas.operations import ReadinessAnswer
from clearwatt.service.permissions import OPEN_DIRECTORY, is_open_to_others

STUCK = 60.0
"""Seconds without a heartbeat after which the learner counts as stuck."""


def readiness(app: AppContext) -> ReadinessAnswer:
    """Check the store and the learner; lists every reason not to be ready."""
    reasons = [reason for reason in (_store(app), _learner(app)) if reason]
    return ReadinessAnswer(
        status="not ready" if reasons else "ok",
        reasons=reasons,
        notes=_notes(app),
        open=app.is_open,
    )


def _store(app: AppContext) -> str | None:
    try:
        app.store.check()
    except ClearwattError as error:
        return f"store: {error}"
    return None


def _learner(app: AppContext) -> str | None:
    health = app.learner.health
    if not health.alive:
        return "learner: its process is not running; forecasts continue, learning is paused"
    age = health.heartbeat_age
    if age is None:
        return "learner: it is starting"
    if age > STUCK:
        return f"learner: no heartbeat for {age:.0f} s"
    return "learner: it cannot write, because the disk is full" if health.outage == "full" else None


def _notes(app: AppContext) -> list[str]:
    """Problems during which forecasts continue, so a load balancer must not stop sending."""
    health = app.learner.health
    notes = [f"zone {zone} cannot learn: {why}" for zone, why in health.degraded.items()]
    if health.outage not in (None, "full"):
        notes.append(f"the learner cannot write: the store is {health.outage}")
    if app.is_open:
        notes.append(
            "no token exists: everyone on this machine has full access; create one with "
            "'clearwatt token create'"
        )
    if app.tokens.is_locked:
        notes.append(
            "all tokens are revoked: nobody has access; create one with 'clearwatt token create'"
        )
    if app.data_dir is not None and is_open_to_others(app.data_dir):
        notes.append(OPEN_DIRECTORY)
    return notes
