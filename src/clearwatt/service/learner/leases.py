"""Which zones a learner may learn: all of them, or those that its node of a cluster holds."""

from __future__ import annotations

import logging
import math
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping
from typing import Any

from clearwatt.errors import ClearwattError
from clearwatt.service.records import ClusterNode, NodeIdentity
from clearwatt.service.regular_work import RegularWork
from clearwatt.service.store import ConflictError, Store
from clearwatt.service.store.leases import SECONDS

RENEWAL = 3.0
"""Seconds between two renewals, and between two looks for zones that nobody holds."""

_LOG = logging.getLogger(__name__)


class ZoneLeases(ABC):
    """The zones that a learner may learn."""

    @abstractmethod
    def held(self) -> Mapping[str, int] | None:
        """Zones and their fencing numbers; None: all zones, without numbers."""

    @abstractmethod
    def surplus(self) -> Collection[str]:
        """Zones to be given to other nodes."""

    @abstractmethod
    def release(self, zone: str) -> None:
        """Give a zone back, once everything about it is stored."""

    @abstractmethod
    def report(self, content: Mapping[str, Any]) -> None:
        """What the next sign of life tells of this learner."""


class EveryZone(ZoneLeases):
    """The leases of the only learner of a database."""

    def held(self) -> None:
        """All zones."""
        return None

    def surplus(self) -> Collection[str]:
        """None."""
        return ()

    def release(self, zone: str) -> None:
        """Nothing to give back."""

    def report(self, content: Mapping[str, Any]) -> None:
        """Nobody to tell."""


class NodeLeases(RegularWork, ZoneLeases):
    """The leases of a node of a cluster, renewed by a thread of its own.

    Each learner node holds an equal share of the zones. While the database is away nothing is given
    up: whatever another node takes meanwhile is noticed at the next renewal, or by the commit that
    is refused.

    Args:
        store: The store of the cluster.
        node: This node.
        changed: Called after zones were taken or lost.
        replaced: Called if another process has this node's name.
    """

    thread_name = "leases"
    complaint = "leases not renewed"

    def __init__(
        self,
        store: Store,
        node: NodeIdentity,
        *,
        changed: Callable[[], None],
        replaced: Callable[[], None],
        interval: float = RENEWAL,
    ) -> None:
        super().__init__(interval)
        self._store, self._node = store, node
        self._changed, self._replaced = changed, replaced
        self._lock = threading.Lock()
        self._held: dict[str, int] = {}
        self._surplus: frozenset[str] = frozenset()
        self._content: Mapping[str, Any] = {}

    def held(self) -> Mapping[str, int]:
        """Zones that this node holds, and their fencing numbers."""
        return self._held

    def surplus(self) -> Collection[str]:
        """Zones to be given to other nodes."""
        return self._surplus

    def release(self, zone: str) -> None:
        """Give a zone back; if the database is away, it stays until the next attempt."""
        with self._lock:
            self._held = {name: fence for name, fence in self._held.items() if name != zone}
            self._surplus -= {zone}
            try:
                self._store.release_leases(self._node, [zone])
            except ClearwattError as error:
                _LOG.warning("zone not given back", extra={"zone": zone, "reason": str(error)})

    def report(self, content: Mapping[str, Any]) -> None:
        """What the next sign of life tells of this learner."""
        self._content = content

    def run_round(self) -> None:
        """Send a sign of life, renew, and take or mark zones until this node has its share."""
        with self._lock:
            before = dict(self._held)
            try:
                draining = self._store.beat(self._node, self._content)
            except ConflictError as error:
                _LOG.error("node replaced", extra={"reason": str(error)})
                self._held = {}
                self._stopped.set()
                self._replaced()
                raise
            held = self._store.renew_zones(self._node)
            share = 0 if draining else _share(self._store.nodes(), len(self._store.heads()))
            if len(held) < share:
                held |= self._store.take_zones(self._node, limit=share - len(held))
            self._held = held
            self._surplus = frozenset(sorted(held)[share:])
        if self._held != before or self._surplus:
            self._changed()

    def leave(self) -> None:
        """Give everything back at the end of the process."""
        self._stopped.set()
        with self._lock:
            try:
                self._store.leave(self._node)
            except ClearwattError as error:
                _LOG.warning("node not signed off", extra={"reason": str(error)})


def _share(nodes: Collection[ClusterNode], zones: int) -> int:
    """Zones of each learner node that runs and is not to give its zones away."""
    learners = [
        node
        for node in nodes
        if node.role == "learner" and node.age < SECONDS and not node.draining
    ]
    return math.ceil(zones / max(1, len(learners)))
