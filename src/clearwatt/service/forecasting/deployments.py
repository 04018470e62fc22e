"""The deployed models of each zone, loaded on first use and swapped on change."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import replace
from threading import Lock

from clearwatt.adaptive.latest import LatestMeasurements
from clearwatt.data.scaling import Scaling
from clearwatt.errors import ClearwattError, StateError
from clearwatt.service.forecasting.adaptive import AdaptiveForecasts
from clearwatt.service.forecasting.clear import ClearForecasts
from clearwatt.service.forecasting.deployed import DeployedZone, ZoneForecasts, ZoneQuantiles
from clearwatt.service.forecasting.library import Files, Library
from clearwatt.service.scaling import read_scaling
from clearwatt.service.status import ZoneStatus
from clearwatt.service.store import Store

RETRY = 5.0
"""Seconds after which a failed swap is tried again."""
RECHECK = 30.0
"""Seconds after which a zone is checked without a message: a learner may be killed after a commit
and before its message."""
_UNKNOWN = -1
_log = logging.getLogger(__name__)


class Deployments:
    """The deployed models of every requested zone.

    A `DeployedZone` is immutable; a swap assigns the next one. Requests in progress keep theirs.
    """

    def __init__(
        self, store: Store, files: Files, *, clock: Callable[[], float] = time.time
    ) -> None:
        self._store = store
        self.library = Library(store, files, clock=clock)
        self._current: dict[str, DeployedZone] = {}
        self._latest: dict[str, LatestMeasurements] = {}
        self._due: dict[str, float] = {}
        self._locks: dict[str, Lock] = {}
        self._guard = Lock()

    def of(self, zone: str) -> DeployedZone:
        """The deployed models of a zone; none, with the reason, if they cannot be read."""
        if time.monotonic() > self._due.get(zone, 0.0):
            self._load(zone, unless_done=True)
        trouble = "the models cannot be read now; the log says why"
        return self._current.get(zone) or DeployedZone(_UNKNOWN, trouble=trouble)

    def reload(self, zone: str, *, generation: int | None = None) -> None:
        """Swap in the committed models of a zone, if it was requested before.

        Most commits change no model; nothing is read if the generation is the deployed one.
        """
        current = self._current.get(zone)
        if current is not None and current.generation != generation:
            self._load(zone)

    def refresh(self, zone: str, latest: LatestMeasurements) -> None:
        """Use newer readings of a zone, which its models have not learned from yet.

        If they belong to corrections and trust that were solved since, these are loaded, too.
        """
        with self._lock(zone):
            self._latest[zone] = latest
            current = self._current.get(zone)
            known = None if current is None else current.forecasts
            if isinstance(known, AdaptiveForecasts) and known.base.since == latest.since:
                assert current is not None
                self._current[zone] = replace(current, forecasts=known.with_latest(latest))
                return
        if current is not None:
            self._load(zone)

    def forget(self, zone: str) -> None:
        """Drop the models of a zone that was deleted."""
        with self._lock(zone):
            self._current.pop(zone, None)
            self._latest.pop(zone, None)
            self._due.pop(zone, None)

    def _load(self, zone: str, *, unless_done: bool = False) -> None:
        with self._lock(zone):
            if unless_done and time.monotonic() <= self._due.get(zone, 0.0):
                return  # another thread has loaded it
            try:
                self._current[zone] = self._newest(zone)
                self._due[zone] = time.monotonic() + RECHECK
            except ClearwattError as error:
                # The deployed models stay in service until the store can be read again.
                self._due[zone] = time.monotonic() + RETRY
                _log.warning("models not loaded", extra={"zone": zone, "reason": str(error)})

    def _newest(self, zone: str) -> DeployedZone:
        previous = self._current.get(zone)
        status = self._store.statuses([zone]).get(zone)
        if status is None:
            return previous or DeployedZone(_UNKNOWN)
        if previous is not None and previous.removed != status.removed:
            previous = None  # another entity may have the id of a deleted one
        deployed = DeployedZone(
            status.generation, removed=status.removed, numbers=status.entity_numbers
        )
        if status.scaling:
            known = None if previous is None else previous.forecasts
            changed = previous is None or previous.generation != status.generation
            scaling = read_scaling(status.scaling)
            forecasts = (
                self._clear(status, scaling, known, changed=changed)
                if status.deployed is None
                else self._adaptive(status, known)
            )
            deployed = replace(deployed, scaling=scaling, forecasts=forecasts)
        return self._with_intervals(deployed, previous, status)

    def _clear(
        self, status: ZoneStatus, scaling: Scaling, known: ZoneForecasts | None, *, changed: bool
    ) -> ZoneForecasts:
        """The models that the status names; as they are known if nothing has changed."""
        previous = known if isinstance(known, ClearForecasts) else None
        if previous is not None and not changed:
            return previous
        return ClearForecasts.assemble(status, scaling, self.library.find, previous=previous)

    def _adaptive(self, status: ZoneStatus, known: ZoneForecasts | None) -> ZoneForecasts:
        """What the learner has published last; as it is known if nothing has changed."""
        found = known if isinstance(known, AdaptiveForecasts) else None
        if found is None or found.revision != status.deployed:
            snapshot = self._store.deployed(status.zone)
            if snapshot is None:
                raise StateError(f"zone {status.zone} has published nothing to forecast with")
            found = AdaptiveForecasts.assemble(snapshot, self.library.find_networks, previous=found)
        latest = self._latest.get(status.zone)
        return found if latest is None else found.with_latest(latest)

    def _with_intervals(
        self, deployed: DeployedZone, previous: DeployedZone | None, status: ZoneStatus
    ) -> DeployedZone:
        """The models with current quantiles; the previous ones if they cannot be read."""
        known = None if previous is None else previous.widths
        revision = status.intervals
        if revision is None or (known is not None and known.revision == revision):
            return replace(deployed, widths=known)
        try:
            stored = self._store.intervals(status.zone)
            known = None if stored is None else ZoneQuantiles.of(stored)
        except StateError as error:
            _log.error("intervals not loaded", extra={"zone": status.zone, "reason": str(error)})
        return replace(deployed, widths=known)

    def _lock(self, zone: str) -> Lock:
        with self._guard:
            return self._locks.setdefault(zone, Lock())
