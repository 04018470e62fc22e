"""The end of a feed on request: SIGTERM or Ctrl-C."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class FeedStoppedError(Exception):
    """Raised in a pause of a feed that is asked to stop."""


class StopRequest:
    """Whether a feed is asked to stop; its pauses end at once then."""

    def __init__(self) -> None:
        self._event = threading.Event()

    def set(self) -> None:
        """Ask the feed to stop."""
        self._event.set()

    def is_set(self) -> bool:
        """Whether the feed is asked to stop."""
        return self._event.is_set()

    def pause(self, seconds: float) -> None:
        """Sleep; raises FeedStoppedError as soon as the feed is asked to stop."""
        if self._event.wait(seconds):
            raise FeedStoppedError


@contextmanager
def stop_on_signals(request: StopRequest) -> Iterator[None]:
    """Let SIGTERM and Ctrl-C ask for the stop while the block runs."""
    numbers = (signal.SIGTERM, signal.SIGINT)
    before = {number: signal.signal(number, lambda *_: request.set()) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
