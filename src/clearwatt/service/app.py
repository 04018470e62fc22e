"""The HTTP application: routes, and around them what every request goes through."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from fastapi import FastAPI
from starlette.middleware import Middleware

from clearwatt import __version__
from clearwatt.service.api.context import AppContext, LearnerMonitor
from clearwatt.service.api.feed import Feed
from clearwatt.service.api.openapi import ServiceApp
from clearwatt.service.api.problems import UnexpectedErrorMiddleware, add_problem_handlers
from clearwatt.service.api.request_metrics import RequestMetricsMiddleware
from clearwatt.service.api.routes import (
    commands,
    entities,
    events,
    fleet,
    forecasts,
    intake,
    models,
    operations,
    quarantine,
    signals,
    stream,
    zones,
)
from clearwatt.service.api.security.access import CallerMiddleware, RoleMiddleware
from clearwatt.service.api.security.auth import TokenBook
from clearwatt.service.api.security.limits import (
    BodyLimitMiddleware,
    Buckets,
    RateLimitMiddleware,
    SecurityHeadersMiddleware,
)
from clearwatt.service.api.security.sessions import Sessions
from clearwatt.service.config import ServiceConfig
from clearwatt.service.dashboard.error_pages import ErrorPageMiddleware
from clearwatt.service.dashboard.routes import ROUTERS as PAGES
from clearwatt.service.forecasting.forecasts import Forecaster
from clearwatt.service.metrics import Metrics
from clearwatt.service.registry import Registry
from clearwatt.service.store import Store
from clearwatt.service.views.overview import Overview
from clearwatt.service.views.signal_cache import SignalCache

ROUTERS = (
    zones,
    entities,
    fleet,
    intake,
    forecasts,
    events,
    signals,
    stream,
    models,
    commands,
    quarantine,
    operations,
)


def create_app(
    config: ServiceConfig,
    *,
    store: Store,
    forecaster: Forecaster,
    supervisor: LearnerMonitor,
    metrics: Metrics,
    registry: Registry | None = None,
    feed: Feed | None = None,
    session_key: Path | None = None,
    clock: Callable[[], float] = time.time,
) -> FastAPI:
    """Put an application together; several may live in one process.

    Args:
        config: How it listens and what it lets through.
        store: Where everything is kept.
        forecaster: Who forecasts.
        supervisor: Who wakes the learner and knows how it is.
        metrics: Who counts.
        registry: Who knows zones and entities; better the forecaster's own than a second one.
        feed: Who tells pages what is new; whoever hears of changes tells it.
        session_key: The file with the key that signs sessions; None: they end with this process.
        clock: The wall clock, in seconds since 1970.
    """
    registry = registry or Registry(store)
    context = AppContext(
        config=config,
        store=store,
        forecaster=forecaster,
        learner=supervisor,
        metrics=metrics,
        registry=registry,
        overview=Overview(store, registry),
        tokens=TokenBook(store),
        sessions=Sessions(session_key, clock=clock),
        feed=feed or Feed(store),
        signals=SignalCache(store),
        clock=clock,
    )
    # The interactive pages of FastAPI load scripts from elsewhere, which the headers forbid.
    app = ServiceApp(
        title="ClearWatt",
        version=__version__,
        docs_url=None,
        redoc_url=None,
        middleware=_middleware(context),
    )
    app.state.context, app.state.descriptions = context, {}
    add_problem_handlers(app)
    for routes in ROUTERS:
        app.include_router(routes.router)
    for router in PAGES:
        app.include_router(router)
    return app


def _middleware(context: AppContext) -> list[Middleware]:
    """From the outside in; a body is read only for those who may send one."""
    config = context.config
    buckets = Buckets(rate=config.rate, burst=config.burst)
    return [
        Middleware(RequestMetricsMiddleware, metrics=context.metrics),
        Middleware(SecurityHeadersMiddleware),
        Middleware(ErrorPageMiddleware),
        Middleware(UnexpectedErrorMiddleware),
        Middleware(CallerMiddleware, book=context.tokens, sessions=context.sessions),
        Middleware(RateLimitMiddleware, buckets=buckets),
        Middleware(RoleMiddleware, book=context.tokens, host=config.host),
        Middleware(BodyLimitMiddleware, limit=config.max_body),
    ]
