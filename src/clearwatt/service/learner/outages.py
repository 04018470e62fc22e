"""Outages of the store: logged at their beginning, recorded as an event at their end."""

from __future__ import annotations

import logging
import time
from typing import NamedTuple

from clearwatt.errors import ClearwattError
from clearwatt.service.records import ServiceEvent
from clearwatt.service.store import Store, StoreDamagedError, StoreFullError

_LOG = logging.getLogger(__name__)


class _Outage(NamedTuple):
    """The kind of outage and its beginning."""

    kind: str
    since: float


class Outages:
    """The current outage of the learner's store; its event can be written only after it."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._now: _Outage | None = None

    @property
    def reason(self) -> str | None:
        """The kind of the current outage; None: there is none."""
        return None if self._now is None else self._now.kind

    def record(self, error: ClearwattError) -> None:
        """Note that the store could not be written or read."""
        kind = _kind(error)
        if self._now is None:
            _LOG.error("learning waits", extra={"reason": kind}, exc_info=error)
            self._now = _Outage(kind, time.time())

    def end(self) -> None:
        """Note a successful write; ends an outage and records it.

        Damage does not end: a write beside it may succeed, and the remedy needs a restart.
        """
        if self._now is None or self._now.kind == "damaged":
            return
        kind, since = self._now
        seconds = time.time() - since
        what = "the disk was full" if kind == "full" else "the database did not answer"
        self._store.add_event(
            ServiceEvent(
                key=f"{kind}:learner:{int(since * 1000)}",
                kind=kind,
                message=f"learning waited {seconds:.0f} s because {what}; nothing was lost",
                at=time.time(),
                details={"since": since, "seconds": round(seconds, 1)},
            )
        )
        _LOG.info("learning goes on", extra={"waited_s": round(seconds, 1)})
        self._now = None


def _kind(error: ClearwattError) -> str:
    if isinstance(error, StoreFullError):
        return "full"
    return "damaged" if isinstance(error, StoreDamagedError) else "unavailable"
