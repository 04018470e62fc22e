"""Messages to the learner: from its parent, from signals and from finished trainings."""

from __future__ import annotations

import signal
import threading
from contextlib import suppress
from multiprocessing import connection
from queue import Empty, SimpleQueue


class Inbox:
    """Messages from a pipe, from SIGTERM and from other threads; ``stopped`` after "stop"."""

    def __init__(self, pipe: connection.Connection) -> None:
        self.stopped = False
        self._messages: SimpleQueue[str] = SimpleQueue()
        self._pipe = pipe
        threading.Thread(target=self._listen, daemon=True, name="listen").start()
        signal.signal(signal.SIGTERM, lambda *_: self._take("stop"))

    def wake(self) -> None:
        """Wake the learner up; may be called from any thread."""
        self._take("wake")

    def stop(self) -> None:
        """Stop the learner; may be called from any thread."""
        self._take("stop")

    def wait(self, seconds: float) -> bool:
        """Wait for a message for at most ``seconds``; returns whether one came."""
        received = False
        with suppress(Empty):
            self._messages.get(timeout=max(seconds, 0.0))
            received = True
            while True:  # several messages count as one
                self._messages.get_nowait()
        return received

    def _take(self, message: str) -> None:
        self.stopped = self.stopped or message == "stop"
        self._messages.put(message)

    def _listen(self) -> None:
        with suppress(EOFError, OSError):
            while True:
                self._take(self._pipe.recv()[0])
        self._take("stop")  # the parent has ended
