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
"""Seconds between two checks.

One reads the whole database in a single statement of SQLite, which cannot be divided: by table, the
readings would still be most of it, and unused pages would not be checked. While it runs, the
write-ahead log grows by what is written, and shrinks afterwards. So a check must be rare.
"""

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
                self._check()
            except Exception as error:
                # A store that is closed meanwhile is no news. Any other error must not end the
                # checks.
                if not self._stopped.is_set():
                    trace = None if isinstance(error, ClearwattError) else error
                    _LOG.warning(
                        "database not checked", extra={"reason": str(error)}, exc_info=trace
                    )
            self._stopped.wait(self._interval)

    def _check(self) -> None:
        damage = self._store.find_damage()
        if damage is not None:
            _LOG.error("database damaged", extra={"damage": damage})
