"""The learners of a web process: one of its own, or those of a cluster."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import TYPE_CHECKING, Protocol

from clearwatt.service.cluster.monitor import ClusterMonitor
from clearwatt.service.cluster.news import NewsReceiver, NewsSender
from clearwatt.service.cluster.web_node import RegistryCheck, RemoteChanges, WebNode
from clearwatt.service.files import Checkpoints, ModelFiles
from clearwatt.service.folders import StoredFolders
from clearwatt.service.forecasting.forecasts import ForecastService
from clearwatt.service.learner.process import LearnerConfig
from clearwatt.service.learner.supervisor import Health, Supervisor
from clearwatt.service.registry import Registry
from clearwatt.service.store import Store

if TYPE_CHECKING:
    from clearwatt.service.store.postgres import PostgresStore

SESSION_KEY = "session key"


class Monitor(Protocol):
    """Wakes learners and reports their health."""

    def wake(self) -> None:
        """Wake the learners because of new journal entries."""

    @property
    def health(self) -> Health:
        """The state of the learners."""


class Announcements(Protocol):
    """Tells open pages of changes; see `clearwatt.service.api.feed.Feed`."""

    def announce(self, zone: str) -> None:
        """A zone has changed."""


class LocalLearner:
    """The learner process of a service on one machine; models are in its data directory.

    Args:
        store: The store.
        config: Settings of the learner.
    """

    def __init__(self, store: Store, config: LearnerConfig) -> None:
        self._store, self._config = store, config
        self.files, self.checkpoints = ModelFiles(config.data_dir), Checkpoints(config.data_dir)
        self._supervisor: Supervisor | None = None

    def announce_weather(self, zone: str) -> None:
        """No other process has weather in memory."""

    def session_key(self) -> None:
        """It is in the data directory."""
        return None

    def does_regular_work(self) -> bool:
        """There is no other process to do it."""
        return True

    def follow(
        self, registry: Registry, forecaster: ForecastService, feed: Announcements
    ) -> Monitor:
        """Let forecasts and open pages follow the learner."""

        def on_commit(zone: str, position: int, generation: int) -> None:
            forecaster.reload(zone, generation=generation)
            feed.announce(zone)

        def on_refresh(zone: str, content: bytes) -> None:
            forecaster.refresh(zone, content)
            feed.announce(zone)

        self._supervisor = Supervisor(
            self._config, changed=on_commit, refreshed=on_refresh, record=self._store.add_event
        )
        return self._supervisor

    @contextmanager
    def run(self) -> Iterator[None]:
        """Run the learner within the with-block."""
        assert self._supervisor is not None, "call `follow` first"
        self._supervisor.start()
        try:
            yield
        finally:
            self._supervisor.stop()


class ClusterLearners:
    """The learner nodes of a cluster; models are in its database.

    Args:
        store: The store of the cluster.
        name: Name of this web node.
    """

    def __init__(self, store: PostgresStore, name: str) -> None:
        self._store = store
        folders = StoredFolders(store)
        self.files, self.checkpoints = ModelFiles(folders), Checkpoints(folders)
        self._sender = NewsSender(store.send)
        self._node = WebNode(store, store.register_node(name, "web"))
        self._parts: list[AbstractContextManager[object]] = [self._sender, self._node]
        self._preload: Callable[[], None] = lambda: None

    @property
    def announce_weather(self) -> Callable[[str], None]:
        """Tells the other web nodes of new weather."""
        return self._sender.add_weather

    def session_key(self) -> bytes:
        """The key that all web nodes share."""
        return self._store.secret(SESSION_KEY, create=secrets.token_bytes(32))

    def does_regular_work(self) -> bool:
        """Whether this web node is the one that does it."""
        return self._node.does_regular_work()

    def follow(
        self, registry: Registry, forecaster: ForecastService, feed: Announcements
    ) -> Monitor:
        """Let forecasts and open pages follow the other nodes."""
        monitor = ClusterMonitor(self._store, self._sender)
        changes = RemoteChanges(self._store, registry, forecaster, feed.announce)
        receiver = NewsReceiver(self._store.open_channel(), take=changes.take, look=changes.look)
        self._parts += [monitor, receiver, RegistryCheck(changes)]
        self._preload = changes.load_all
        return monitor

    @contextmanager
    def run(self) -> Iterator[None]:
        """Exchange news and signs of life within the with-block.

        It begins when everything is in memory, so that a load balancer sends requests to this node
        only once it can forecast without the database.
        """
        with ExitStack() as stack:
            stack.callback(self._node.leave)
            for part in self._parts:
                stack.enter_context(part)
            self._preload()
            yield
