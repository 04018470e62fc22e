"""The whole service in one call: lock, store, forecaster, learner, application, server."""

from __future__ import annotations

import logging
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import uvicorn
from fastapi import FastAPI

from clearwatt import __version__
from clearwatt.errors import ClearwattError, ConfigurationError, StateError
from clearwatt.files import lock_file
from clearwatt.service.api.feed import Feed
from clearwatt.service.api.security.auth import check_bind
from clearwatt.service.app import create_app
from clearwatt.service.cluster.learners import ClusterLearners, LocalLearner
from clearwatt.service.config import ServiceConfig
from clearwatt.service.connections import (
    BACKLOG,
    ConnectionTable,
    bounded_protocol,
    connection_limit,
)
from clearwatt.service.dashboard.preparation import prepare
from clearwatt.service.fleet_starts import FleetStarts
from clearwatt.service.forecasting.forecasts import ForecastService
from clearwatt.service.integrity import IntegrityCheck
from clearwatt.service.journal_retention import JournalRetention
from clearwatt.service.learner.fleet_training import DAYS, FleetTraining
from clearwatt.service.learner.process import LearnerConfig
from clearwatt.service.logs import configure_logging
from clearwatt.service.memory_release import MemoryRelease
from clearwatt.service.metrics import Metrics
from clearwatt.service.partition_upkeep import PartitionUpkeep
from clearwatt.service.permissions import (
    OPEN_DIRECTORY,
    create_private_files,
    is_open_to_others,
)
from clearwatt.service.records import ServiceEvent
from clearwatt.service.registry import Registry
from clearwatt.service.regular_work import RegularWork
from clearwatt.service.resources import limit_threads
from clearwatt.service.store import ConflictError, Store, open_store
from clearwatt.service.store.journal_archive import ARCHIVE, JournalArchive
from clearwatt.service.views.gauges import StatusGauges
from clearwatt.service.views.machine_gauges import MachineGauges
from clearwatt.service.vintage_retention import KEPT, VintageRetention
from clearwatt.service.weather_pull import WeatherPull

if TYPE_CHECKING:
    from clearwatt.service.store.postgres import PostgresStore

Role = Literal["all", "web", "learner"]
"""What a process is for: a whole service, or one kind of node of a cluster."""

GRACE = 10
"""Seconds that open requests may take after the signal to stop."""

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class ServeOptions:
    """Options of a service.

    Args:
        web: address and limits of the HTTP application.
        learner: data directory, database and training of the learner.
        log_level: lowest level that is logged.
        weather_url: address of a mirror of Open-Meteo; None: Open-Meteo's.
        prior_days: days between two trainings of fleet priors; 0: none are trained.
        keep_vintages: seconds for which recorded forecasts are kept; None: for ever.
        keep_journal: seconds after which journal entries are archived; None: never.
        role: "all" is a whole service; "web" and "learner" are nodes of a cluster.
        node: name of the node, by which others see it; by default role and host.
    """

    web: ServiceConfig
    learner: LearnerConfig
    log_level: str = "info"
    weather_url: str | None = None
    prior_days: float = DAYS
    keep_vintages: float | None = KEPT
    keep_journal: float | None = None
    role: Role = "all"
    node: str | None = None

    @property
    def node_name(self) -> str:
        """Name of this node of a cluster."""
        return self.node or f"{self.role}-{socket.gethostname()}"

    @property
    def data_dir(self) -> Path:
        """Directory of models and checkpoints, and of the database if it is SQLite."""
        return self.learner.data_dir

    @property
    def archive(self) -> Path:
        """Directory of archived entries of the journals."""
        return self.learner.archive or self.data_dir / ARCHIVE

    @property
    def database(self) -> str:
        """Address of the database."""
        return self.learner.database or str(self.data_dir / "clearwatt.db")


def serve(
    options: ServeOptions,
    *,
    prepare: Callable[[Store], None] | None = None,
    ready: Callable[[str], None] | None = None,
) -> None:
    """Run the service, or a node of a cluster, until SIGINT or SIGTERM.

    Args:
        options: options of the service.
        prepare: called with the store before anything else uses it.
        ready: called with the address as soon as requests are answered; of a learner node, with
            its name as soon as it is started.
    """
    limit_threads()
    with ExitStack() as stack:
        stack.enter_context(create_private_files())
        stack.enter_context(_lock_directory(options.data_dir))
        archive = JournalArchive(options.archive, create=options.learner.archive is None)
        store = open_store(options.database, archive=archive)
        stack.callback(store.close)
        stack.enter_context(store.exclusive() if options.role == "all" else store.shared())
        if options.role == "learner":
            configure_logging(options.log_level)
            _check_archive(store)
            _run_learner(options, store, ready)
            return
        check_bind(options.web.host, store.tokens())
        listener = stack.enter_context(_bind_port(options.web))
        if prepare is not None:
            prepare(store)
        configure_logging(options.log_level)
        if is_open_to_others(options.data_dir):
            _LOG.warning(OPEN_DIRECTORY)
        _check_archive(store)
        _run(options, store, listener, ready)


def _run(
    options: ServeOptions,
    store: Store,
    listener: socket.socket,
    ready: Callable[[str], None] | None,
) -> None:
    """Start all parts, serve until a signal, and stop them in reverse order."""
    metrics, registry, feed = Metrics(), Registry(store), Feed(store)
    learners = (
        LocalLearner(store, options.learner)
        if options.role == "all"
        else ClusterLearners(_cluster_store(store), options.node_name)
    )
    forecaster = ForecastService(
        store,
        learners.files,
        registry=registry,
        metrics=metrics,
        weather_changed=learners.announce_weather,
    )
    monitor = learners.follow(registry, forecaster, feed)

    def on_weather(zone: str) -> None:
        forecaster.forget_weather(zone)
        metrics.count_weather(zone)
        monitor.wake()

    weather = WeatherPull(store, registry, url=options.weather_url, stored=on_weather)
    metrics.collect_from(
        StatusGauges(
            store,
            recorder=forecaster.recorder,
            health=lambda: monitor.health,
            weather=lambda: weather.states,
        )
    )
    metrics.collect_from(MachineGauges(options.data_dir))
    app = create_app(
        options.web,
        store=store,
        forecaster=forecaster,
        supervisor=monitor,
        metrics=metrics,
        registry=registry,
        feed=feed,
        data_dir=options.data_dir,
        session_key=learners.session_key(),
    )
    # The tokens read last stay valid without the database; so read them before the first request.
    app.state.context.tokens.refresh()
    server = _Server(_uvicorn_config(app, options), feed, announce=_announcement(listener, ready))
    with _stop_on_signal(server), ExitStack() as stack:
        stack.callback(_record_event, store, "stopped", "the service stopped")
        stack.callback(forecaster.close)
        _record_event(store, "started", f"the service was started, release {__version__}")
        stack.enter_context(learners.run())
        works: list[RegularWork] = [PartitionUpkeep(store), weather]
        works.append(FleetStarts(store, registry, started=monitor.wake))
        if (kept := options.keep_vintages) is not None:
            deleted = metrics.count_deleted_vintages
            works.append(VintageRetention(store, kept=kept, deleted=deleted))
        if (kept := options.keep_journal) is not None and (archive := store.archive) is not None:
            moved, checkpoints = metrics.count_archived_entries, learners.checkpoints
            works.append(JournalRetention(store, archive, checkpoints, kept=kept, moved=moved))
        if options.prior_days > 0:
            works.append(FleetTraining(store, options.database, days=options.prior_days))
        for work in (IntegrityCheck(store), *works):
            stack.enter_context(work.run_only_if(learners.does_regular_work))
        stack.enter_context(MemoryRelease())
        pages = threading.Thread(target=prepare, args=(app.state.context,), name="prepare-pages")
        pages.start()
        stack.callback(pages.join)  # it reads the store, which is closed at the end
        server.run(sockets=[listener])


def _check_archive(store: Store) -> None:
    """Log it if the archive lacks entries; they are needed only if checkpoints are lost, too."""
    if store.archive is None:
        return
    for zone, (_, last) in sorted(store.archive_spans().items()):
        try:
            store.archive.require_file(zone, last)
        except StateError as error:
            _LOG.error("archive incomplete", extra={"zone": zone, "reason": str(error)})
            return  # one line says enough: the folder is another one, or 'doctor' lists the rest


def _run_learner(options: ServeOptions, store: Store, ready: Callable[[str], None] | None) -> None:
    """Run a learner node."""
    from clearwatt.service.cluster.learner_node import run_learner_node

    name = options.node_name

    def announce() -> None:
        _LOG.info("learning", extra={"node": name})
        if ready is not None:
            ready(name)

    run_learner_node(replace(options.learner, node=name), _cluster_store(store), ready=announce)


def _cluster_store(store: Store) -> PostgresStore:
    """The store of a cluster, which `Store.shared` has accepted."""
    from clearwatt.service.store.postgres import PostgresStore

    assert isinstance(store, PostgresStore)
    return store


class _Server(uvicorn.Server):
    """Server that announces when it is ready and disconnects listeners before it stops."""

    def __init__(self, config: uvicorn.Config, feed: Feed, *, announce: Callable[[], None]) -> None:
        super().__init__(config)
        self._feed, self._announce = feed, announce

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start answering and announce it."""
        await super().startup(sockets)
        self._announce()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Close the streams, which would not end by themselves, then wait for the rest."""
        self._feed.close()
        await super().shutdown(sockets)


def _uvicorn_config(app: FastAPI, options: ServeOptions) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        log_config=None,
        access_log=options.log_level == "debug",
        server_header=False,
        date_header=True,
        lifespan="off",
        backlog=BACKLOG,
        http=bounded_protocol(ConnectionTable(connection_limit())),
        timeout_graceful_shutdown=GRACE,
        # Rate limits use the address of a caller, so it must not come from a header.
        proxy_headers=False,
    )


def _announcement(
    listener: socket.socket, ready: Callable[[str], None] | None
) -> Callable[[], None]:
    host, port = listener.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host

    def announce() -> None:
        _LOG.info("serving", extra={"host": host, "port": port})
        if ready is not None:
            ready(f"http://{shown}:{port}")

    return announce


def _record_event(store: Store, kind: str, message: str) -> None:
    """Record an event of the service itself; a failure is only logged."""
    now = time.time()
    try:
        store.add_event(ServiceEvent(f"{kind}:{int(now * 1000)}", kind, message, now))
    except ClearwattError as error:
        _LOG.error("event not written", extra={"kind": kind, "reason": str(error)})


@contextmanager
def _lock_directory(data_dir: Path) -> Iterator[None]:
    """Lock a data directory for one service; the lock ends with the process."""
    data_dir.mkdir(parents=True, exist_ok=True)
    with (data_dir / "service.lock").open("w") as lock:
        if not lock_file(lock):
            raise ConflictError(
                f"another service uses {data_dir}; stop it, or give another --data-dir"
            )
        yield


@contextmanager
def _bind_port(web: ServiceConfig) -> Iterator[socket.socket]:
    """Bind the port before anything starts, so that a port in use is reported at once."""
    family = socket.AF_INET6 if ":" in web.host else socket.AF_INET
    # asyncio sends small answers without delay only if the protocol is given.
    with socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((web.host, web.port))
        except OSError as error:
            raise ConfigurationError(
                f"cannot listen on {web.host}:{web.port} ({error.strerror or error}); give another "
                "--host or --port"
            ) from error
        yield listener


@contextmanager
def _stop_on_signal(server: _Server) -> Iterator[None]:
    """Let signals stop the server only, until the with-block ends.

    The server raises a signal again once it has stopped; learner and store still have to be closed
    then.
    """

    def stop(*_: object) -> None:
        server.should_exit = True

    caught = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, stop) for number in caught}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
