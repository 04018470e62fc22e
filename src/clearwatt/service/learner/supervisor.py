"""Starts the learner process, receives its messages and restarts it when it dies."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.context import SpawnProcess
from typing import Any

from clearwatt.errors import ClearwattError
from clearwatt.service.learner.process import LearnerConfig, main
from clearwatt.service.learner.rounds import Heartbeat
from clearwatt.service.records import ServiceEvent

Changed = Callable[[str, int, int], None]
"""Called with a zone, its position and its generation after each commit of the learner."""

Refreshed = Callable[[str, bytes], None]
"""Called with a zone and what its newest readings change in its forecasts."""

FIRST_WAIT, LONGEST_WAIT = 0.5, 30.0
"""Seconds before a learner that died is restarted: doubled each time, up to the second."""

STEADY = 60.0
"""Seconds of running after which the wait before a restart is reset."""

STOP_WITHIN = 10.0
"""Seconds that a learner has to stop by itself."""

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Health:
    """The state of the learner, as known to the web process.

    Attributes:
        alive: Whether the process runs.
        restarts: Number of restarts.
        heartbeat_age: Seconds since its last heartbeat; None: none yet.
        queue: Journal entries not applied yet.
        training: Number of zones that wait for a training.
        degraded: Zones whose learning fails, with the reason.
        outage: Why it cannot write ("full", "unavailable", "damaged"); None: it can.
        updating: The zones that wait for a training.
    """

    alive: bool
    restarts: int
    heartbeat_age: float | None
    queue: int = 0
    training: int = 0
    degraded: dict[str, str] = field(default_factory=dict)
    outage: str | None = None
    updating: tuple[str, ...] = ()


class Supervisor:
    """Keeps one learner running from `start` to `stop`.

    Args:
        config: Configuration of the learner.
        changed: Called after each commit, from a thread of the supervisor.
        record: Stores an event, such as ``store.add_event``.
        refreshed: Called when there are newer readings to forecast with, likewise.
    """

    def __init__(
        self,
        config: LearnerConfig,
        *,
        changed: Changed,
        record: Callable[[ServiceEvent], None],
        refreshed: Refreshed = lambda zone, content: None,
    ) -> None:
        self._config, self._record = config, record
        self._changed, self._refreshed = changed, refreshed
        self._stopping = threading.Event()
        self._woken = threading.Event()
        self._learner: _LearnerProcess | None = None
        self._restarts = 0
        self._beat: tuple[float, Heartbeat] | None = None
        self._watcher = threading.Thread(target=self._watch, daemon=True, name="watch-learner")
        self._messenger = threading.Thread(
            target=self._send_messages, daemon=True, name="wake-learner"
        )

    def start(self) -> None:
        """Start the learner without waiting for it; it is ready some seconds later."""
        self._watcher.start()
        self._messenger.start()

    def stop(self) -> None:
        """Ask the learner to stop; kill it after `STOP_WITHIN` seconds."""
        self._stopping.set()
        self._woken.set()
        if self._watcher.ident is None:
            return
        self._watcher.join(STOP_WITHIN)
        learner = self._learner
        if learner is not None:
            _LOG.warning("learner did not stop by itself", extra={"seconds": STOP_WITHIN})
            learner.process.kill()
        self._watcher.join()
        self._woken.set()  # lets the messenger see that the watcher has ended
        self._messenger.join()

    def wake(self) -> None:
        """Wake the learner because of new journal entries; never blocks."""
        self._woken.set()

    @property
    def pid(self) -> int | None:
        """Process id of the learner; None if it does not run."""
        learner = self._learner
        return None if learner is None else learner.process.pid

    @property
    def health(self) -> Health:
        """The state of the learner."""
        alive, beat = self._learner is not None, self._beat
        if beat is None:
            return Health(alive, self._restarts, None)
        at, last = beat
        return Health(
            alive=alive,
            restarts=self._restarts,
            heartbeat_age=time.monotonic() - at,
            queue=last.queue,
            training=last.training,
            degraded=last.degraded,
            outage=last.outage,
            updating=last.updating,
        )

    def _watch(self) -> None:
        """Run the learner and restart it whenever it ends."""
        wait = FIRST_WAIT
        while not self._stopping.is_set():
            started = time.monotonic()
            code = self._run_learner()
            if self._stopping.is_set():
                return
            wait = FIRST_WAIT if time.monotonic() - started > STEADY else wait
            self._record_restart(code, wait)
            self._stopping.wait(wait)
            wait = min(2 * wait, LONGEST_WAIT)

    def _run_learner(self) -> int | None:
        """Run one learner process until it ends; returns its exit code."""
        learner = self._learner = _LearnerProcess(self._config)
        self._woken.set()  # resend a message from before the start, "stop" included
        with suppress(EOFError, OSError):
            while True:
                self._handle(learner.pipe.recv())
        code = learner.wait_for_exit()
        self._learner = None
        return code

    def _handle(self, message: tuple[Any, ...]) -> None:
        match message:
            case ("heartbeat", Heartbeat() as beat):
                self._beat = time.monotonic(), beat
            case ("changed", str(zone), int(position), int(generation)):
                self._pass_on(zone, lambda: self._changed(zone, position, generation))
            case ("refreshed", str(zone), bytes(content)):
                self._pass_on(zone, lambda: self._refreshed(zone, content))

    def _pass_on(self, zone: str, call: Callable[[], None]) -> None:
        """Call back; an error of the callback must not end the thread."""
        try:
            call()
        except Exception as error:
            _LOG.error("change not taken in", extra={"zone": zone}, exc_info=error)

    def _send_messages(self) -> None:
        """Send "wake" and "stop" from a thread of its own, so that `wake` never blocks."""
        while True:
            self._woken.wait()
            self._woken.clear()
            stopping, learner = self._stopping.is_set(), self._learner
            if learner is not None:
                learner.send("stop" if stopping else "wake")
            if stopping and not self._watcher.is_alive():
                return

    def _record_restart(self, code: int | None, wait: float) -> None:
        """Count, log and record the end of a learner."""
        self._restarts += 1
        what = f"killed by signal {-code}" if code is not None and code < 0 else f"exit code {code}"
        _LOG.error("learner died", extra={"how": what, "retry_s": wait})
        now = time.time()
        event = ServiceEvent(
            key=f"learner restarted:{int(now * 1000)}",
            kind="learner restarted",
            message=f"the learner died ({what}) and is started again; forecasts went on",
            at=now,
            details={"exit_code": code, "wait_s": wait},
        )
        try:
            self._record(event)
        except ClearwattError as error:
            _LOG.error("event not written", exc_info=error)


class _LearnerProcess:
    """A learner process and the pipe to it."""

    def __init__(self, config: LearnerConfig) -> None:
        context = get_context("spawn")
        self.pipe, theirs = context.Pipe()
        # Not a daemon, because it starts processes itself. It ends when this process ends.
        self.process: SpawnProcess = context.Process(
            target=main, args=(config, theirs), name="learner"
        )
        self.process.start()
        theirs.close()  # otherwise the pipe would stay open after the process has ended

    def send(self, message: str) -> None:
        """Send a message; errors are ignored, because the receiving thread notices the end."""
        with suppress(OSError):
            self.pipe.send((message,))

    def wait_for_exit(self) -> int | None:
        """Wait until the process ends and return its exit code."""
        self.process.join()
        self.pipe.close()
        return self.process.exitcode
