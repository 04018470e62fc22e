"""Regular checks of a running service's database for damage."""

from __future__ import annotations

import logging
import threading
from types import TracebackType
from typing import Self

from clearwatt.clock import SECONDS_PER_DAY
from clearwatt.errors import ClearwattError
from clearwatt.service.store import Store

INTERVAL = float(SECONDS_PER_DAY)
"""Seconds between two checks; one reads the whole database."""

_LOG = logging.getLogger(__name__)


class IntegrityCheck:
    """Checks a database when it is entered and then every day; readiness reports what it finds."""

    def __init__(self, store: Store, *, interval: float = INTERVAL) -> None:
        self._store, self._interval = store, interval
        self._stopped = threading.Event()

    def __enter__(self) -> Self:
        """Start the checks; a check in progress does not delay the end of the process."""
        threading.Thread(target=self._run, daemon=True, name="integrity").start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Start no further check."""
        self._stopped.set()

    def _run(self) -> None:
        while not self._stopped.is_set():
            try:
                damage = self._store.find_damage()
            except ClearwattError as error:
                damage = None
                if not self._stopped.is_set():
                    _LOG.warning("database not checked", extra={"reason": str(error)})
            if damage is not None:
                _LOG.error("database damaged", extra={"damage": damage})
            self._stopped.wait(self._interval)
