"""Regular checks of a running service's database for damage."""

from __future__ import annotations

import logging

from clearwatt.clock import SECONDS_PER_DAY
from clearwatt.service.regular_work import RegularWork
from clearwatt.service.store import Store

INTERVAL = float(SECONDS_PER_DAY)
"""Seconds between two checks.

One reads the whole database in a single statement of SQLite, which cannot be divided: by table, the
readings would still be most of it, and unused pages would not be checked. While it runs, the
write-ahead log grows by what is written, and shrinks afterwards. So a check must be rare. Rows are
checked when they are read, in backups and by the doctor; all of them here would slow forecasts.
"""

_LOG = logging.getLogger(__name__)


class IntegrityCheck(RegularWork):
    """Checks a database when it is entered and then every day; readiness reports what it finds."""

    thread_name = "integrity"
    complaint = "database not checked"

    def __init__(self, store: Store, *, interval: float = INTERVAL) -> None:
        super().__init__(interval)
        self._store = store

    def run_round(self) -> None:
        """Check the database once."""
        damage = self._store.find_damage(rows=False)
        if damage is not None:
            _LOG.error("database damaged", extra={"damage": damage})
