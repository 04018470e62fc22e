"""Work on many items at once: in this process, in several, or on a Ray cluster.

A worker that dies costs time, not results: what it was doing is done again.
"""

from __future__ import annotations

import logging
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import connection, get_context, parent_process
from typing import Any, Literal, Protocol, TypeVar, get_args

from clearwatt.errors import ClearwattError, ConfigurationError, MissingExtraError

Shared = TypeVar("Shared")
Item = TypeVar("Item")
Result = TypeVar("Result")
ExecutorName = Literal["serial", "processes", "ray"]

ATTEMPTS = 3
"""How often an item may take its worker down before it is given up."""


class Executor(Protocol):
    """Runs work on items; results come as they finish, with the position of their item."""

    workers: int

    def map(
        self, work: Callable[[Shared, Item], Result], shared: Shared, items: Sequence[Item]
    ) -> Iterator[tuple[int, Result]]:
        """Yield (position, work(shared, item)) for every item, in any order.

        Args:
            work: A function of a module, so that other processes find it.
            shared: What all items need; sent to each worker once.
            items: What differs; small.
        """

    def close(self) -> None:
        """End the workers, whatever they are doing."""


@contextmanager
def executor(
    name: ExecutorName, *, workers: int | None = None, address: str | None = None
) -> Iterator[Executor]:
    """Start an executor and end it with the block.

    Args:
        name: "serial", "processes" or "ray".
        workers: How many; by default one per core. A cluster that is joined has its own.
        address: Of a Ray cluster to join; by default one is started on this machine.
    """
    if name not in get_args(ExecutorName):
        raise ConfigurationError(
            f"executor is {name!r}; choose one of {', '.join(get_args(ExecutorName))}"
        )
    if workers is not None and workers < 1:
        raise ConfigurationError(f"workers is {workers}; give at least 1")
    if address is not None and name != "ray":
        raise ConfigurationError(f"a Ray address needs the executor ray, not {name}")
    started = _started(name, workers or cores(), address)
    try:
        yield started
    finally:
        started.close()


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _started(name: ExecutorName, workers: int, address: str | None) -> Executor:
    if name == "serial":
        return _Serial()
    return _Processes(workers) if name == "processes" else _Ray(workers, address)


class _Serial:
    """One item after the other, here."""

    workers = 1

    def map(
        self, work: Callable[[Shared, Item], Result], shared: Shared, items: Sequence[Item]
    ) -> Iterator[tuple[int, Result]]:
        for position, item in enumerate(items):
            yield position, work(shared, item)

    def close(self) -> None:
        pass


@dataclass(frozen=True, eq=False)
class _Told:
    """What a worker must know before the first item."""

    work: Callable[[Any, Any], Any]
    shared: Any


class _Worker:
    """A process that does one item at a time, and what it is doing."""

    def __init__(self) -> None:
        # Spawned, not forked: a copy of a process whose libraries hold locks may hang.
        context = get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()  # so that the pipe ends with the process
        self.busy_with: int | None = None
        self._told: object = None

    def begin(self, position: int, item: object, told: _Told) -> None:
        """Start on an item; what all items need is sent before the first of them."""
        self.busy_with = position
        if self._told is not told:
            self._pipe.send(told)
            self._told = told
        self._pipe.send(item)

    def finish(self) -> tuple[bool, Any]:
        """Whether it went well, and the result or the error; EOFError: the process is gone."""
        outcome: tuple[bool, Any] = self._pipe.recv()
        self.busy_with = None
        return outcome

    @property
    def pipe(self) -> Any:
        """Readable when the item is done or the process is gone."""
        return self._pipe

    def end(self) -> None:
        """Stop the process at once."""
        self._process.kill()
        self._process.join()
        self._pipe.close()


class _Processes:
    """Several processes of this machine."""

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._pool: list[_Worker] = []

    def map(
        self, work: Callable[[Shared, Item], Result], shared: Shared, items: Sequence[Item]
    ) -> Iterator[tuple[int, Result]]:
        told = _Told(work, shared)
        waiting, deaths = deque(range(len(items))), [0] * len(items)
        while len(self._pool) < min(self.workers, len(items)):
            self._pool.append(_Worker())
        while waiting or any(worker.busy_with is not None for worker in self._pool):
            for at, worker in enumerate(self._pool):
                if worker.busy_with is None and waiting:
                    position = waiting.popleft()
                    if not _begun(worker, position, items[position], told):
                        waiting.appendleft(position)
                        self._replace(at)
            pipes = [worker.pipe for worker in self._pool if worker.busy_with is not None]
            ready = connection.wait(pipes)
            for at, worker in enumerate(self._pool):
                if worker.pipe not in ready or worker.busy_with is None:
                    continue
                position = worker.busy_with
                try:
                    well, value = worker.finish()
                except (EOFError, OSError):
                    deaths[position] += 1
                    _give_up_after(deaths[position])
                    waiting.appendleft(position)
                    self._replace(at)
                    continue
                if not well:
                    raise value
                yield position, value

    def close(self) -> None:
        for worker in self._pool:
            worker.end()
        self._pool.clear()

    def _replace(self, at: int) -> None:
        self._pool[at].end()
        self._pool[at] = _Worker()


def _begun(worker: _Worker, position: int, item: object, told: _Told) -> bool:
    """Start on an item, unless the worker died while it had nothing to do."""
    try:
        worker.begin(position, item, told)
    except OSError:
        return False
    return True


def _give_up_after(deaths: int) -> None:
    if deaths >= ATTEMPTS:
        raise ClearwattError(
            f"a worker process was killed {deaths} times at the same piece of work; "
            "it may need more memory than there is: use fewer workers"
        )


def _serve(pipe: Any) -> None:
    """A worker's life: take what is shared, then items, until the pipe or the parent ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    threading.Thread(target=_end_with_parent, daemon=True).start()
    told: _Told = pipe.recv()
    while True:
        try:
            message = pipe.recv()
        except EOFError:
            return
        if isinstance(message, _Told):
            told = message
        else:
            pipe.send(_outcome(told, message))


def _outcome(told: _Told, item: object) -> tuple[bool, Any]:
    try:
        return True, told.work(told.shared, item)
    except Exception as error:
        return False, error


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)  # nobody is left to take a result


class _Ray:
    """A Ray cluster: one that is there, or one started on this machine."""

    def __init__(self, workers: int, address: str | None) -> None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        try:
            import ray
        except ImportError as error:
            raise MissingExtraError("ray", "ray") from error
        self._ray: Any = ray
        try:
            ray.init(
                address=address,
                num_cpus=None if address else workers,
                include_dashboard=None if address else False,
                log_to_driver=False,
                logging_level=logging.ERROR,
            )
        except (ConnectionError, ValueError, RuntimeError) as error:
            raise ConfigurationError(
                f"no Ray cluster answers at {address!r} ({error}); check the address"
            ) from error
        self.workers = int(self._ray.cluster_resources().get("CPU", workers))

    def map(
        self, work: Callable[[Shared, Item], Result], shared: Shared, items: Sequence[Item]
    ) -> Iterator[tuple[int, Result]]:
        told = self._ray.put(shared)
        remote = self._ray.remote(num_cpus=1, max_retries=ATTEMPTS)(work)
        pending = {remote.remote(told, item): position for position, item in enumerate(items)}
        while pending:
            (done,), _ = self._ray.wait(list(pending), num_returns=1)
            yield pending.pop(done), self._ray.get(done)

    def close(self) -> None:
        self._ray.shutdown()
