"""The HTTP application: routes, pages and middleware."""

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
    cluster,
    commands,
    entities,
    events,
    fleet,
    forecasts,
    intake,
    models,
    operations,
    priors,
    quarantine,
    signals,
    stream,
    zones,
)
from clearwatt.service.api.routes import registry as registry_routes
from clearwatt.service.api.security.access import CallerMiddleware, RoleMiddleware
from clearwatt.service.api.security.auth import TokenBook
from clearwatt.service.api.security.bodies import BodyLimitMiddleware
from clearwatt.service.api.security.limits import (
    Buckets,
    RateLimitMiddleware,
    SecurityHeadersMiddleware,
)
from clearwatt.service.api.security.sessions import Sessions
from clearwatt.service.config import ServiceConfig
from clearwatt.service.dashboard.error_pages import ErrorPageMiddleware
from clearwatt.service.dashboard.routes import ROUTERS as PAGES
from clearwatt.service.forecasting.forecasts import ForecastService
from clearwatt.service.metrics import Metrics
from clearwatt.service.priors import PriorBook
from clearwatt.service.registry import Registry
from clearwatt.service.store import Store
from clearwatt.service.views.overview import Overview
from clearwatt.service.views.signal_cache import SignalCache

ROUTERS = (
    zones,
    entities,
    registry_routes,
    fleet,
    intake,
    forecasts,
    events,
    signals,
    stream,
    models,
    priors,
    commands,
    quarantine,
    operations,
    cluster,
)


def create_app(
    config: ServiceConfig,
    *,
    store: Store,
    forecaster: ForecastService,
    supervisor: LearnerMonitor,
    metrics: Metrics,
    registry: Registry | None = None,
    feed: Feed | None = None,
    data_dir: Path | None = None,
    session_key: bytes | None = None,
    clock: Callable[[], float] = time.time,
) -> FastAPI:
    """Create an application; a process may have several.

    Args:
        config: Address and limits.
        store: The store of the service.
        forecaster: Answers requests for forecasts.
        supervisor: Wakes the learner and reports its health.
        metrics: Counters of this application.
        registry: Zones and entities; should be the one of the forecaster.
        feed: Live news for pages; its owner reports changes to it.
        data_dir: The data directory; has the key that signs sessions. None: sessions end with this
            process.
        session_key: The key that signs sessions, if web nodes of a cluster share one.
        clock: Wall clock, in seconds since 1970.
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
        sessions=Sessions(
            data_dir / "session.key" if data_dir else None, key=session_key, clock=clock
        ),
        feed=feed or Feed(store),
        signals=SignalCache(store),
        priors=PriorBook(store),
        clock=clock,
        data_dir=data_dir,
    )
    # FastAPI's interactive pages load scripts from other sites, which the headers forbid.
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
    """Middleware from the outside in; a body is read only after authorisation."""
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
