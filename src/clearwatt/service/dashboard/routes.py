"""Every page and what it loads."""

from __future__ import annotations

from clearwatt.service.dashboard import assets, events, fleet, health, login

ROUTERS = (assets.router, login.router, fleet.router, events.router, health.router)
