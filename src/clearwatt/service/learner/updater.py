"""Training for the service: in niced processes of this machine, or on a Ray cluster.

Jobs submitted together are trained together, in one call, so that their results do not depend on
other trainings. The training of a killed worker is repeated.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import ExitStack
from queue import SimpleQueue
from typing import Literal, Protocol, get_args

from clearwatt.compute import ATTEMPTS, Executor, Worker, WorkSpec, cores, executor, require_ray
from clearwatt.errors import ClearwattError, ConfigurationError, require_whole
from clearwatt.training.fleet import Job, train
from clearwatt.training.streams import TrainingResults

UpdaterName = Literal["processes", "ray"]

NICENESS = 10
"""Lowers the priority of training below forecasts and the evaluation of readings."""

_LOG = logging.getLogger(__name__)
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 60.0


class TrainingLostError(ClearwattError):
    """Training was abandoned because its workers were killed repeatedly."""


class UpdaterClosedError(ClearwattError):
    """The updater was closed before the training ended."""


class Updater:
    """Trains jobs in the background, first come, first served.

    Args:
        name: "processes" or "ray".
        workers: Number of concurrent trainings; by default the number of cores minus one.
        address: Address of the Ray cluster to join; by default one is started on this machine.
    """

    def __init__(
        self,
        name: UpdaterName = "processes",
        *,
        workers: int | None = None,
        address: str | None = None,
    ) -> None:
        workers = check_updater(name, workers, address)
        self._queue: SimpleQueue[tuple[tuple[Job, ...], Future[TrainingResults]] | None] = (
            SimpleQueue()
        )
        self._closing = threading.Event()
        backends: list[_TrainingBackend] = [_WorkerProcess() for _ in range(workers)]
        if name == "ray":
            backends = [_Cluster(workers, address, self._closing)] * workers
        self._backends = backends
        self._threads = [
            threading.Thread(target=self._work, args=(backend,), daemon=True, name="updater")
            for backend in backends
        ]
        for thread in self._threads:
            thread.start()

    @property
    def waiting(self) -> int:
        """Number of trainings that wait for a worker."""
        return self._queue.qsize()

    def submit(self, jobs: Sequence[Job]) -> Future[TrainingResults]:
        """Train jobs together; the future holds the results in their order, or an error."""
        future: Future[TrainingResults] = Future()
        if self._closing.is_set():
            future.set_exception(UpdaterClosedError("the updater is closed"))
        else:
            self._queue.put((tuple(jobs), future))
        return future

    def close(self) -> None:
        """Abandon running and waiting trainings; returns when the workers have ended."""
        self._closing.set()
        for backend in self._backends:
            backend.give_up()
        for _ in self._threads:
            self._queue.put(None)
        for thread in self._threads:
            thread.join()

    def _work(self, backend: _TrainingBackend) -> None:
        while (item := self._queue.get()) is not None:
            jobs, future = item
            if self._closing.is_set():
                future.set_exception(UpdaterClosedError("the updater was closed"))
            elif future.set_running_or_notify_cancel():
                _train_and_answer(future, backend, jobs)
        backend.end()


def check_updater(name: str, workers: int | None = None, address: str | None = None) -> int:
    """Check the arguments of an updater; returns the number of workers."""
    if name not in get_args(UpdaterName):
        raise ConfigurationError(
            f"updater is {name!r}; choose one of {', '.join(get_args(UpdaterName))}"
        )
    if address is not None and name != "ray":
        raise ConfigurationError(f"a Ray address needs the updater ray, not {name}")
    if name == "ray":
        require_ray()
    workers = max(1, cores() - 1) if workers is None else workers
    require_whole(workers=workers)
    return workers


def _train_and_answer(
    future: Future[TrainingResults], backend: _TrainingBackend, jobs: tuple[Job, ...]
) -> None:
    try:
        trained = backend.train(jobs)
    except Exception as error:
        future.set_exception(error)
    else:
        future.set_result(trained)


def _train(niceness: int, jobs: tuple[Job, ...]) -> TrainingResults:
    """Train in a worker; the priority of its process is lowered once."""
    os.nice(max(0, niceness - os.nice(0)))
    return train(jobs)


class _TrainingBackend(Protocol):
    """Trains jobs on this machine or on a cluster."""

    def train(self, jobs: tuple[Job, ...]) -> TrainingResults:
        """Train jobs; repeated up to `ATTEMPTS` times if a worker is lost."""

    def give_up(self) -> None:
        """Make the running training and later ones fail soon; called from another thread."""

    def end(self) -> None:
        """Release all resources; may be called more than once."""


class _WorkerProcess:
    """A process on this machine, replaced when it dies."""

    def __init__(self) -> None:
        self._spec = WorkSpec(_train, NICENESS)
        self._lock = threading.Lock()  # a process must not be replaced while it is killed
        self._worker: Worker | None = None
        self._open = True

    def train(self, jobs: tuple[Job, ...]) -> TrainingResults:
        for attempt in range(1, ATTEMPTS + 1):
            worker = self._ensure_worker()
            worker.begin(0, jobs, self._spec)
            _, outcome = worker.finish()
            if outcome is not None:
                if outcome.error is not None:
                    raise outcome.error
                trained: TrainingResults = outcome.value
                return trained
            self.end()
            if self._open:
                _LOG.warning("training worker lost", extra={"attempt": attempt})
        raise TrainingLostError(
            f"a training worker was killed {ATTEMPTS} times at the same training; it may need more "
            "memory than there is: use fewer workers"
        )

    def give_up(self) -> None:
        with self._lock:
            self._open = False
            if self._worker is not None:
                self._worker.kill()

    def end(self) -> None:
        with self._lock:
            if self._worker is not None:
                self._worker.end()
            self._worker = None

    def _ensure_worker(self) -> Worker:
        with self._lock:
            if not self._open:
                raise UpdaterClosedError("the updater was closed during the training")
            self._worker = self._worker or Worker()
            return self._worker


class _Cluster:
    """A Ray cluster shared by several threads; they wait while it is unreachable."""

    def __init__(self, workers: int, address: str | None, closing: threading.Event) -> None:
        self._workers, self._address, self._closing = workers, address, closing
        self._lock = threading.Lock()
        self._exit = ExitStack()
        self._joined: Executor | None = None

    def train(self, jobs: tuple[Job, ...]) -> TrainingResults:
        for attempt in range(1, ATTEMPTS + 1):
            compute = self._executor()
            try:
                [(_, trained)] = compute.map(_train, NICENESS, [jobs])
            except Exception as error:
                if self._closing.is_set():
                    raise UpdaterClosedError("the updater was closed") from error
                if type(error) is not ClearwattError:
                    raise  # an error of the training, not of the cluster
                _LOG.warning("training lost by Ray", extra={"attempt": attempt}, exc_info=error)
            else:
                return trained
        raise TrainingLostError(f"Ray gave up the same training {ATTEMPTS} times; see its logs")

    def give_up(self) -> None:
        self.end()

    def end(self) -> None:
        with self._lock:
            self._exit.close()
            self._joined = None

    def _executor(self) -> Executor:
        pause = _FIRST_PAUSE
        while True:
            with self._lock:
                if self._closing.is_set():
                    raise UpdaterClosedError("the updater was closed")
                try:
                    return self._join()
                except ConfigurationError as error:
                    _LOG.warning("no Ray cluster", exc_info=error, extra={"retry_s": pause})
            self._closing.wait(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _join(self) -> Executor:
        if self._joined is None:
            cluster = executor("ray", workers=self._workers, address=self._address)
            self._joined = self._exit.enter_context(cluster)
        return self._joined
