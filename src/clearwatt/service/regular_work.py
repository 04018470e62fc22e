"""Work that a running service repeats in a thread of its own."""

from __future__ import annotations

import logging
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from types import TracebackType
from typing import ClassVar, Self

from clearwatt.errors import ClearwattError


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
            try:
                if self._may_run():
                    self.run_round()
            except Exception as error:
                # A store that is closed meanwhile is no news. Any other error must not end this.
                if not self._stopped.is_set():
                    trace = None if isinstance(error, ClearwattError) else error
                    log = logging.getLogger(type(self).__module__)
                    log.warning(self.complaint, extra={"reason": str(error)}, exc_info=trace)
            self._stopped.wait(self._interval)
