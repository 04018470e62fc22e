"""A learner node of a cluster: one learner process, and its news for the other nodes."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from clearwatt.service.cluster.news import News, NewsReceiver, NewsSender
from clearwatt.service.learner.process import LearnerConfig
from clearwatt.service.learner.supervisor import Supervisor
from clearwatt.service.store.postgres import PostgresStore

_LOG = logging.getLogger(__name__)


def run_learner_node(
    config: LearnerConfig, store: PostgresStore, *, ready: Callable[[], None] | None = None
) -> None:
    """Learn the zones that this node holds until SIGINT or SIGTERM.

    Args:
        config: Settings of the learner.
        store: The store of the cluster.
        ready: Called when the learner process is started.
    """
    sender = NewsSender(store.send)

    def on_commit(zone: str, position: int, generation: int) -> None:
        sender.add_change(zone, generation)

    def on_refresh(zone: str, content: bytes) -> None:
        sender.add_latest(zone)  # the learner process has stored the content

    supervisor = Supervisor(config, changed=on_commit, refreshed=on_refresh, record=store.add_event)

    def take(news: News) -> None:
        if news.entries or news.weather:
            supervisor.wake()

    def look() -> None:
        store.keep_lock()
        supervisor.wake()

    receiver = NewsReceiver(store.open_channel(), take=take, look=look)
    with _signals() as stopped, ExitStack() as stack:
        stack.enter_context(sender)
        stack.callback(supervisor.stop)
        supervisor.start()
        stack.enter_context(receiver)
        if ready is not None:
            ready()
        stopped.wait()


@contextmanager
def _signals() -> Iterator[threading.Event]:
    """An event that SIGINT and SIGTERM set."""
    stopped = threading.Event()
    caught = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, lambda *_: stopped.set()) for number in caught}
    try:
        yield stopped
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
