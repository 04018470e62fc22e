"""Executors: run work on many items in this process, in several, or on a Ray cluster.

The item of a worker that dies is run again.
"""

from __future__ import annotations

import logging
import os
import pickle
import signal
import sys
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from multiprocessing import connection, get_context, parent_process
from typing import Any, Literal, NamedTuple, Protocol, TypeVar, get_args

from clearwatt.errors import ClearwattError, ConfigurationError, MissingExtraError

Shared = TypeVar("Shared")
Item = TypeVar("Item")
Result = TypeVar("Result")
ExecutorName = Literal["serial", "processes", "ray"]

ATTEMPTS = 3
"""Number of times a worker may die on the same item before the run fails."""
GRACE = 5.0
"""Maximum seconds between the end of a worker's pipe and the end of its process."""


_PROCESS_LOCK = threading.Lock()
"""Starting a process also reaps finished ones, so start and join are serialised."""


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
            items: One argument per call; small.
        """

    def close(self) -> None:
        """Stop the workers, even if they are busy."""


@contextmanager
def executor(
    name: ExecutorName, *, workers: int | None = None, address: str | None = None
) -> Iterator[Executor]:
    """Start an executor; it is closed at the end of the with-block.

    Args:
        name: "serial", "processes" or "ray".
        workers: Number of workers; by default one per core. An existing cluster has its own.
        address: Address of an existing Ray cluster; by default one is started here.
    """
    if name not in get_args(ExecutorName):
        raise ConfigurationError(
            f"executor is {name!r}; choose one of {', '.join(get_args(ExecutorName))}"
        )
    if workers is not None and workers < 1:
        raise ConfigurationError(f"workers is {workers}; give at least 1")
    if address is not None and name != "ray":
        raise ConfigurationError(f"a Ray address needs the executor ray, not {name}")
    started = _make_executor(name, workers or cores(), address)
    try:
        yield started
    finally:
        started.close()


def cores() -> int:
    """Number of cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def require_ray() -> None:
    """Raise a MissingExtraError if Ray is not installed; does not import it, which is slow."""
    if find_spec("ray") is None:
        raise MissingExtraError("ray", "ray")


def _make_executor(name: ExecutorName, workers: int, address: str | None) -> Executor:
    if name == "serial":
        return _Serial()
    return _Processes(workers) if name == "processes" else _Ray(workers, address)


class _Serial:
    """One item after the other, in this process."""

    workers = 1

    def map(
        self, work: Callable[[Shared, Item], Result], shared: Shared, items: Sequence[Item]
    ) -> Iterator[tuple[int, Result]]:
        for position, item in enumerate(items):
            yield position, work(shared, item)

    def close(self) -> None:
        pass


@dataclass(frozen=True, eq=False)
class WorkSpec:
    """The function a worker calls, and the argument that all items share."""

    work: Callable[[Any, Any], Any]
    shared: Any


class _ItemResult(NamedTuple):
    """The result of an item: a value, or an error."""

    value: Any
    error: Exception | None


class Worker:
    """A process that runs one item at a time, and the position of that item.

    It ends with its parent process. Several threads may have one each.
    """

    def __init__(self) -> None:
        # Spawned, not forked: a forked process may hang on locks that its libraries hold.
        context = get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs,), daemon=True)
        with _PROCESS_LOCK:
            self._process.start()
        theirs.close()  # so that the pipe ends with the process
        self.position: int | None = None
        self._spec: WorkSpec | None = None

    def begin(self, position: int, item: object, spec: WorkSpec) -> None:
        """Start an item; a new spec is sent before it."""
        self.position = position
        with suppress(OSError):  # the process has died; `finish` returns None
            if self._spec is not spec:
                _send(self.pipe, spec)
                self._spec = spec
            _send(self.pipe, item)

    def finish(self) -> tuple[int, _ItemResult | None]:
        """Wait for the item; returns its position and outcome, None if the process died."""
        position = self.position
        if position is None:
            raise RuntimeError("the worker was given no item")
        try:
            outcome: _ItemResult = self.pipe.recv()
        except (EOFError, OSError):
            return position, None
        self.position = None
        return position, outcome

    def ended_by_itself(self) -> bool:
        """Whether a dead process ended with an error of its own, not by a signal."""
        with _PROCESS_LOCK:
            self._process.join(GRACE)
        return (self._process.exitcode or 0) > 0

    def kill(self) -> None:
        """Stop the process at once; `finish` in another thread then returns None."""
        self._process.kill()

    def end(self) -> None:
        """Stop the process and release its resources; may be called again if interrupted."""
        with _PROCESS_LOCK, suppress(ValueError):  # raised for a process that is closed already
            self._process.kill()
            self._process.join()
            self._process.close()
        self.pipe.close()


class _Processes:
    """Several processes of this machine."""

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._pool: list[Worker] = []

    def map(
        self, work: Callable[[Shared, Item], Result], shared: Shared, items: Sequence[Item]
    ) -> Iterator[tuple[int, Result]]:
        spec, waiting = WorkSpec(work, shared), deque(range(len(items)))
        deaths: Counter[int] = Counter()
        try:
            while waiting or self._busy:
                self._assign(waiting, items, spec)
                for worker in self._ready():
                    position, outcome = worker.finish()
                    if outcome is None:
                        deaths[position] += 1
                        _give_up_after(deaths[position], by_itself=worker.ended_by_itself())
                        waiting.appendleft(position)
                        self._dismiss(worker)
                    elif outcome.error is not None:
                        raise outcome.error
                    else:
                        yield position, outcome.value
        finally:
            for worker in self._busy:  # the caller stopped early: results are not needed
                self._dismiss(worker)

    def close(self) -> None:
        for worker in list(self._pool):
            self._dismiss(worker)

    @property
    def _busy(self) -> list[Worker]:
        return [worker for worker in self._pool if worker.position is not None]

    def _assign(self, waiting: deque[int], items: Sequence[object], spec: WorkSpec) -> None:
        """Give every idle worker an item; start workers up to the maximum."""
        while len(self._pool) < min(self.workers, len(self._busy) + len(waiting)):
            self._pool.append(Worker())
        for worker in self._pool:
            if worker.position is None and waiting:
                position = waiting.popleft()
                worker.begin(position, items[position], spec)

    def _ready(self) -> list[Worker]:
        """Wait for workers that have finished or died."""
        busy = self._busy
        ready = connection.wait([worker.pipe for worker in busy])
        return [worker for worker in busy if worker.pipe in ready]

    def _dismiss(self, worker: Worker) -> None:
        worker.end()
        self._pool.remove(worker)


def _give_up_after(deaths: int, *, by_itself: bool) -> None:
    if deaths < ATTEMPTS:
        return
    if by_itself:
        raise ClearwattError(
            f"a worker process ended by itself {deaths} times at the same piece of work, see what "
            'it printed; a script must start its work below `if __name__ == "__main__":`, because '
            "every worker imports it"
        )
    raise ClearwattError(
        f"a worker process was killed {deaths} times at the same piece of work; "
        "it may need more memory than there is: use fewer workers"
    )


def _serve(pipe: connection.Connection) -> None:
    """Main loop of a worker: receive a spec, then items, until the pipe or the parent ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    threading.Thread(target=end_with_parent, daemon=True).start()
    spec: WorkSpec = pipe.recv()
    while True:
        try:
            message = pipe.recv()
        except EOFError:
            return
        if isinstance(message, WorkSpec):
            spec = message
        else:
            _send(pipe, _outcome(spec, message))


def _send(pipe: connection.Connection, message: object) -> None:
    """Send by value, tensors too: torch would put them into shared memory.

    Containers have little of it, and it may be lost when a process is killed.
    """
    pipe.send_bytes(pickle.dumps(message))


def _outcome(spec: WorkSpec, item: object) -> _ItemResult:
    try:
        return _ItemResult(spec.work(spec.shared, item), None)
    except Exception as error:
        return _ItemResult(None, error)


def end_with_parent() -> None:
    """Wait for the end of the parent process, then end this one at once; runs in a thread."""
    parent = parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)  # no process is left to receive the result


@contextmanager
def _same_imports() -> Iterator[None]:
    """Let processes started in the block import the same modules."""
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    try:
        yield
    finally:
        del os.environ["PYTHONPATH"]
        if before is not None:
            os.environ["PYTHONPATH"] = before


class _Ray:
    """A Ray cluster: an existing one, or one started on this machine."""

    def __init__(self, workers: int, address: str | None) -> None:
        require_ray()
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        import ray

        self._ray: Any = ray
        try:
            with _same_imports():
                ray.init(
                    address=address or "local",  # not one that was started here by others
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
        reference = self._ray.put(shared)
        remote = self._ray.remote(num_cpus=1, max_retries=ATTEMPTS)(work)
        pending = {remote.remote(reference, item): position for position, item in enumerate(items)}
        # If the caller stops early, pending tasks are not cancelled: cancelling a Ray task that is
        # just ending aborts this process (ray-project/ray issue 54260). Closing is safe.
        while pending:
            (done,), _ = self._ray.wait(list(pending), num_returns=1)
            with self._convert_errors():
                result = self._ray.get(done)
            yield pending.pop(done), result

    def close(self) -> None:
        self._ray.shutdown()

    @contextmanager
    def _convert_errors(self) -> Iterator[None]:
        """Convert Ray's own failures to ClearwattError; errors of the work pass unchanged."""
        errors = self._ray.exceptions
        try:
            yield
        except errors.RayTaskError:
            raise
        except errors.RayError as error:
            raise ClearwattError(
                f"Ray gave up a piece of work ({type(error).__name__}); see the cluster's logs"
            ) from error
