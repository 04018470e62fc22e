"""The learner process: applies journals to models; it may be killed at any moment."""

from __future__ import annotations

import logging
import os
import shutil
import signal
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import connection
from pathlib import Path

from clearwatt.compute import end_with_parent
from clearwatt.errors import ClearwattError
from clearwatt.files import lock_file
from clearwatt.service.files import Checkpoints, ModelFiles
from clearwatt.service.folders import DiskFolders, StoredFolders
from clearwatt.service.learner.context import LearnerContext, LearningFactory
from clearwatt.service.learner.inbox import Inbox
from clearwatt.service.learner.leases import EveryZone, NodeLeases, ZoneLeases
from clearwatt.service.learner.memory_limit import MemoryLimit
from clearwatt.service.learner.outages import Outages
from clearwatt.service.learner.rounds import Rounds
from clearwatt.service.learner.updater import Updater, UpdaterName, check_updater
from clearwatt.service.store import (
    Store,
    StoreDamagedError,
    StoreFullError,
    StoreUnavailableError,
)

NICENESS = 5
"""Lower priority than the web process; training is lower still."""

RESTING = "resting"
"""Folder of the states of zones that are not in memory, below the data directory."""

_FIRST_WAIT, _LONGEST_WAIT = 1.0, 30.0
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class LearnerConfig:
    """Settings of a learner; they are sent to its process.

    Args:
        data_dir: Where models and checkpoints are.
        database: A PostgreSQL URL, or the path of an SQLite file; by default one in the data
            directory. Its password is not shown.
        updater: Where models are trained.
        workers: How many trainings at once; by default one per core but one.
        ray_address: Of the Ray cluster to join.
        log_level: The least level that is logged.
        learning: Applies the journals; by default `ZoneLearning`.
        node: Name of this node of a cluster: it learns the zones that it holds, and models and
            checkpoints are in the database. None: it is the only learner.
        memory: Bytes that the learner process may have, without its trainings; zones beyond that
            rest on disk. None: all zones stay in memory.
        archive: Where archived entries of the journals are; by default in the data directory.
    """

    data_dir: Path
    database: str | None = None
    updater: UpdaterName = "processes"
    workers: int | None = None
    ray_address: str | None = None
    log_level: str = "info"
    learning: LearningFactory | None = None
    node: str | None = None
    memory: int | None = None
    archive: Path | None = None

    def __post_init__(self) -> None:
        check_updater(self.updater, self.workers, self.ray_address)

    def __repr__(self) -> str:
        return f"LearnerConfig(data_dir={str(self.data_dir)!r}, updater={self.updater!r})"


def main(config: LearnerConfig, pipe: connection.Connection) -> None:
    """Run the learner until it receives "stop", or until the parent ends.

    Receives ("wake",) when a journal has grown, and ("stop",). Sends ("changed", zone, position,
    generation) after each commit, ("refreshed", zone, content) with what the newest readings change
    in forecasts (of a node of a cluster without the content, which is in the store), and
    ("heartbeat", `Heartbeat`) every second.
    """
    _set_up_process(config)
    inbox = Inbox(pipe)
    with _lock_directory(config.data_dir / "learner.lock", inbox) as locked:
        store = _open_store(config, inbox) if locked else None
        if store is not None:
            with closing(store):
                _learn(config, store, pipe, inbox)


def _learn(config: LearnerConfig, store: Store, pipe: connection.Connection, inbox: Inbox) -> None:
    def publish(*message: object) -> None:
        with suppress(OSError):  # the parent is gone: this process is about to be, too
            pipe.send(message)

    def refresh(zone: str, content: bytes) -> None:
        fences = leases.held()
        if fences is None:
            publish("refreshed", zone, content)
        elif zone in fences and _store_latest(store, zone, content, fence=fences[zone]):
            publish("refreshed", zone, b"")  # other nodes read it from the store

    folders = DiskFolders(config.data_dir) if config.node is None else StoredFolders(store)
    with (
        _zone_leases(config, store, inbox) as leases,
        closing(
            Updater(config.updater, workers=config.workers, address=config.ray_address)
        ) as updater,
    ):
        context = LearnerContext(
            store=store,
            files=ModelFiles(folders),
            checkpoints=Checkpoints(folders),
            trainer=updater,
            learning=config.learning or _zone_learning(),
            outages=Outages(store),
            leases=leases,
            publish=lambda status: publish(
                "changed", status.zone, status.position, status.generation
            ),
            refresh=refresh,
            wake=inbox.wake,
            resting=_empty_folders(config.data_dir / RESTING),
        )
        rounds = Rounds(
            context,
            inbox=inbox,
            publish=lambda beat: publish("heartbeat", beat),
            memory=None if config.memory is None else MemoryLimit(config.memory),
        )
        rounds.run()
        rounds.finish()


def _store_latest(store: Store, zone: str, content: bytes, *, fence: int) -> bool:
    try:
        return store.put_latest(zone, content, fence=fence)
    except ClearwattError as error:
        _LOG.warning("forecasts not refreshed", extra={"zone": zone, "reason": str(error)})
        return False


def _empty_folders(path: Path) -> DiskFolders:
    """Folders without what a process before has left there."""
    shutil.rmtree(path, ignore_errors=True)
    return DiskFolders(path)


@contextmanager
def _zone_leases(config: LearnerConfig, store: Store, inbox: Inbox) -> Iterator[ZoneLeases]:
    """The zones to learn: all, or those of a node, which are given back at the end."""
    if config.node is None:
        yield EveryZone()
        return
    node = store.register_node(config.node, "learner")
    with NodeLeases(store, node, changed=inbox.wake, replaced=inbox.stop) as leases:
        try:
            yield leases
        finally:
            leases.leave()


def _set_up_process(config: LearnerConfig) -> None:
    """Set priority, one thread, and the end with the parent."""
    from clearwatt.service.logs import configure_logging
    from clearwatt.service.resources import limit_threads

    configure_logging(config.log_level)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    os.nice(NICENESS)
    limit_threads()
    # At once, because another service may be waiting for the data directory.
    threading.Thread(target=end_with_parent, daemon=True, name="parent").start()


@contextmanager
def _lock_directory(path: Path, inbox: Inbox) -> Iterator[bool]:
    """Lock the data directory; waits for a predecessor that is about to end."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        while not (locked := lock_file(file)) and not inbox.stopped:
            inbox.wait(0.1)
        yield locked


def _open_store(config: LearnerConfig, inbox: Inbox) -> Store | None:
    """The store, as soon as it answers; None if the learner is stopped before."""
    from clearwatt.service.store import open_store
    from clearwatt.service.store.journal_archive import ARCHIVE

    wait = _FIRST_WAIT
    while not inbox.stopped:
        try:
            address = config.database or config.data_dir / "clearwatt.db"
            return open_store(address, archive=config.archive or config.data_dir / ARCHIVE)
        except (StoreFullError, StoreUnavailableError, StoreDamagedError) as error:
            _LOG.error("store not opened", extra={"retry_s": wait}, exc_info=error)
            inbox.wait(wait)
            wait = min(2 * wait, _LONGEST_WAIT)
    return None


def _zone_learning() -> LearningFactory:
    from clearwatt.service.learner.apply.zone_learning import ZoneLearning

    return ZoneLearning
