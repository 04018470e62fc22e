"""A web node of a cluster: its sign of life, and what it hears of the other nodes."""

from __future__ import annotations

import logging
from collections.abc import Callable

from clearwatt.errors import ClearwattError, StateError
from clearwatt.service.cluster.news import News
from clearwatt.service.forecasting.forecasts import ForecastService
from clearwatt.service.records import NodeIdentity
from clearwatt.service.registry import Registry, RegistrySnapshot
from clearwatt.service.regular_work import RegularWork
from clearwatt.service.store import ConflictError, Store
from clearwatt.service.store.leases import SECONDS

BEAT = 3.0
"""Seconds between two signs of life."""
REGULAR_WORK = "*regular work"
"""Name of the lease of the web node that fetches weather and starts entities; no zone's id."""

_LOG = logging.getLogger(__name__)


class WebNode(RegularWork):
    """Sends signs of life; one of the web nodes at a time does the regular work of the service.

    Args:
        store: The store of the cluster.
        node: This node.
    """

    thread_name = "node"
    complaint = "no sign of life sent"

    def __init__(self, store: Store, node: NodeIdentity, *, interval: float = BEAT) -> None:
        super().__init__(interval)
        self._store, self._node = store, node
        self._works = False

    def does_regular_work(self) -> bool:
        """Whether this node is the one that does it."""
        return self._works

    def run_round(self) -> None:
        """Send a sign of life, and take or renew the lease of the regular work."""
        try:
            self._works = self._confirm()
        except ClearwattError as error:
            self._works = False  # unless the database confirms it
            if isinstance(error, ConflictError):
                _LOG.error("node replaced", extra={"reason": str(error)})
                self._stopped.set()
            raise

    def leave(self) -> None:
        """Sign off."""
        self._stopped.set()
        try:
            self._store.leave(self._node)
        except ClearwattError as error:
            _LOG.warning("node not signed off", extra={"reason": str(error)})

    def _confirm(self) -> bool:
        """Send a sign of life; whether this node does the regular work."""
        draining = self._store.beat(self._node, {})
        self._store.keep_lock()
        if draining:
            self._store.release_leases(self._node, [REGULAR_WORK])
            return False
        return self._store.take_lease(self._node, REGULAR_WORK)


assert BEAT < SECONDS / 3, "a lease is renewed several times before it expires"


class RemoteChanges:
    """Takes changes by other nodes over into the caches of this one.

    Args:
        store: The store of the cluster.
        registry: The cached zones and entities.
        forecaster: The cached models and inputs.
        announce: Called with a zone that has changed, for pages that are open.
    """

    def __init__(
        self,
        store: Store,
        registry: Registry,
        forecaster: ForecastService,
        announce: Callable[[str], None],
    ) -> None:
        self._store, self._registry = store, registry
        self._forecaster, self._announce = forecaster, announce
        self._latest: dict[str, int] = {}
        self._heads: dict[str, int] = {}
        self._registered = -1
        self._known: RegistrySnapshot | None = None

    def load_all(self) -> None:
        """Load the models of all zones, with their newest readings."""
        for zone in self._registry.snapshot.zones:
            self._forecaster.deployed(zone)
        self.look()

    def take(self, news: News) -> None:
        """Take over what the news name."""
        for zone, generation in news.changed.items():
            self._forecaster.reload(zone, generation=generation)
            self._announce(zone)
        for zone in news.latest:
            self._take_latest(zone)
        for zone in news.weather:
            self._forecaster.forget_inputs(zone)
            self._announce(zone)

    def look(self) -> None:
        """Take over everything that has changed, news or not."""
        self.check_registry()
        for zone, (_, generation) in self._store.positions().items():
            self._forecaster.reload(zone, generation=generation)
        for zone, revision in self._store.latest_revisions().items():
            if self._latest.get(zone) != revision:
                self._take_latest(zone)
        heads = self._store.heads()
        for zone, head in heads.items():
            if self._heads.get(zone) != head:
                self._forecaster.forget_inputs(zone)
        self._heads = heads

    def check_registry(self) -> None:
        """Read zones and entities again if another node has changed them."""
        revision = self._store.registry_revision()
        if revision == self._registered:
            return
        before, self._known = self._known, self._registry.refresh()
        for zone in _with_removals(before, self._known) if before is not None else ():
            self._forecaster.forget_zone(zone)
        self._registered = revision

    def _take_latest(self, zone: str) -> None:
        stored = self._store.latest_content(zone)
        if stored is None or self._latest.get(zone) == stored.revision:
            return
        self._latest[zone] = stored.revision
        try:
            self._forecaster.refresh(zone, stored.content)
        except (StateError, LookupError, TypeError, ValueError) as error:
            # Such as what a node of another release has written.
            _LOG.warning("forecasts not refreshed", extra={"zone": zone, "reason": str(error)})
        else:
            self._announce(zone)


class RegistryCheck(RegularWork):
    """Looks often whether another node has changed zones or entities.

    Args:
        changes: Takes the changes over.
    """

    thread_name = "check-registry"
    complaint = "zones and entities not read"

    def __init__(self, changes: RemoteChanges, *, interval: float = 1.0) -> None:
        super().__init__(interval)
        self._changes = changes

    def run_round(self) -> None:
        """Look once."""
        self._changes.check_registry()


def _with_removals(before: RegistrySnapshot, after: RegistrySnapshot) -> set[str]:
    """Zones that were deleted, or entities of which were."""
    zones = before.zones.keys() - after.zones.keys()
    return zones | {
        entity.zone for number, entity in before.numbers.items() if number not in after.numbers
    }
