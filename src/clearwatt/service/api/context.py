"""Objects shared by all routes of an application, as FastAPI dependencies."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Protocol

from fastapi import Depends, Request

from clearwatt.service.api.feed import Feed
from clearwatt.service.api.security.auth import Caller, TokenBook, is_local
from clearwatt.service.api.security.sessions import Sessions
from clearwatt.service.config import ServiceConfig
from clearwatt.service.forecasting.forecasts import ForecastService
from clearwatt.service.learner.supervisor import Health
from clearwatt.service.metrics import Metrics
from clearwatt.service.priors import PriorBook
from clearwatt.service.registry import Registry
from clearwatt.service.store import Store
from clearwatt.service.views.overview import Overview
from clearwatt.service.views.signal_cache import SignalCache


class LearnerMonitor(Protocol):
    """The part of `clearwatt.service.learner.supervisor.Supervisor` that routes use."""

    def wake(self) -> None:
        """Wake the learner because a journal has new entries."""

    @property
    def health(self) -> Health:
        """Health of the learner process."""


@dataclass(frozen=True, eq=False)
class AppContext:
    """Everything a route may need; one per application, nothing global."""

    config: ServiceConfig
    store: Store
    forecaster: ForecastService
    learner: LearnerMonitor
    metrics: Metrics
    registry: Registry
    overview: Overview
    tokens: TokenBook
    sessions: Sessions
    feed: Feed
    signals: SignalCache
    priors: PriorBook
    clock: Callable[[], float] = time.time
    data_dir: Path | None = None

    @property
    def is_open(self) -> bool:
        """Whether no token is required: none exists and only this machine can connect."""
        return self.tokens.is_open and is_local(self.config.host)


def _app_context(request: Request) -> AppContext:
    app: AppContext = request.app.state.context
    return app


def _caller(request: Request) -> Caller:
    caller: Caller = request.state.caller
    return caller


App = Annotated[AppContext, Depends(_app_context)]
RequestCaller = Annotated[Caller, Depends(_caller)]
