"""Work that a running service repeats in a thread of its own."""

from __future__ import annotations

import logging
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from types import TracebackType
from typing import ClassVar, Self

from clearwatt.errors import ClearwattError

AGAIN = 5.0
"""Seconds after a skipped round until the condition is looked at again."""


class RegularWork(ABC):
    """Does its work when it is entered and then regularly, until it is left.

    Args:
        interval: Seconds between two rounds.
    """

    thread_name: ClassVar[str]
    complaint: ClassVar[str]
    """What the log says of a round that failed."""

    def __init__(self, interval: float) -> None:
        self._interval, self._stopped = interval, threading.Event()
        self._may_run: Callable[[], bool] = lambda: True
        self._last_failure: str | None = None

    def run_only_if(self, condition: Callable[[], bool]) -> Self:
        """Skip rounds before which the condition does not hold; returns itself."""
        self._may_run = condition
        return self

    @abstractmethod
    def run_round(self) -> None:
        """Do the work once."""

    def __enter__(self) -> Self:
        """Start the thread; a round in progress does not delay the end of the process."""
        threading.Thread(target=self._run, daemon=True, name=self.thread_name).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Start no further round."""
        self._stopped.set()

    def _run(self) -> None:
        while not self._stopped.is_set():
            wait = self._interval
            try:
                if self._may_run():
                    self.run_round()
                    self._last_failure = None
                else:
                    wait = min(wait, AGAIN)
            except Exception as error:
                # A store that is closed meanwhile is no news. Any other error must not end this.
                if not self._stopped.is_set():
                    self._complain(error)
            self._stopped.wait(wait)

    def _complain(self, error: Exception) -> None:
        """Log a failure, unless the round before has failed for the same reason."""
        if str(error) == self._last_failure:
            return
        self._last_failure = str(error)
        trace = None if isinstance(error, ClearwattError) else error
        log = logging.getLogger(type(self).__module__)
        log.warning(self.complaint, extra={"reason": str(error)}, exc_info=trace)
