"""Deletes recorded forecasts (vintages) that are older than they are kept."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from clearwatt.clock import SECONDS_PER_DAY
from clearwatt.service import times
from clearwatt.service.regular_work import RegularWork
from clearwatt.service.store import Store, StoreUnavailableError

KEPT = 400 * SECONDS_PER_DAY
"""Seconds for which forecasts are kept by default; why is in docs/decisions.md, Growth."""
INTERVAL = 600.0
"""Seconds between two rounds; one that finds nothing old reads one page of an index."""
PORTION = 500
"""Forecasts deleted in one transaction; readings wait for one portion at most."""
PAUSE = 3.0
"""Pause after a portion, as a multiple of the time it took: a quarter of the writing at most."""

_LOG = logging.getLogger(__name__)


class VintageRetention(RegularWork):
    """Deletes forecasts issued more than ``kept`` seconds ago, in small transactions.

    A killed process leaves whole portions deleted; the next start goes on with the oldest.

    Args:
        store: The store of the service.
        kept: Seconds.
        deleted: Called with the number of forecasts that a portion deleted.
        clock: The time, in seconds since 1970.
    """

    thread_name = "vintage-retention"
    complaint = "old forecasts not deleted"

    def __init__(
        self,
        store: Store,
        *,
        kept: float = KEPT,
        deleted: Callable[[int], None],
        interval: float = INTERVAL,
        clock: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(interval)
        self._store, self._kept, self._deleted, self._clock = store, kept, deleted, clock

    def run_round(self) -> None:
        """Delete all that is too old now; stops after a portion when the service stops."""
        before = self._clock() - self._kept
        total = self._drop(before)
        while True:
            began = time.perf_counter()
            count = self._store.prune_vintages(before, limit=PORTION)
            self._deleted(count)
            total += count
            if count < PORTION or self._stopped.wait(PAUSE * (time.perf_counter() - began)):
                break
        self._log(before, total)

    def _drop(self, before: float) -> int:
        """Delete what can be deleted at once; if a backup keeps that from being, so be it."""
        try:
            count = self._store.drop_vintages(before)
        except StoreUnavailableError as error:
            _LOG.info("partitions of old forecasts not dropped", extra={"reason": str(error)})
            return 0
        if count:
            self._deleted(count)
        return count

    def _log(self, before: float, total: int) -> None:
        if total:
            _LOG.info(
                "old forecasts deleted",
                extra={"count": total, "issued_before": times.text(before)},
            )
