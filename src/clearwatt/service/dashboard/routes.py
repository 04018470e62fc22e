"""Routers of all pages and static files."""

from __future__ import annotations

from clearwatt.service.dashboard import (
    assets,
    entity,
    events,
    evidence,
    fleet,
    health,
    login,
    manage,
    start,
)

ROUTERS = (
    assets.router,
    login.router,
    fleet.router,
    entity.router,
    evidence.router,
    events.router,
    health.router,
    manage.router,
    start.router,
)
