"""The learners of a cluster as a web node sees them."""

from __future__ import annotations

import time
from collections.abc import Sequence

from clearwatt.service.cluster.news import NewsSender
from clearwatt.service.learner.supervisor import Health
from clearwatt.service.records import ClusterNode
from clearwatt.service.regular_work import RegularWork
from clearwatt.service.store import Store
from clearwatt.service.store.leases import SECONDS

INTERVAL = 2.0
"""Seconds between two looks at the nodes."""


class ClusterMonitor(RegularWork):
    """Wakes the learners, and reports their health from their signs of life.

    Args:
        store: The store of the cluster.
        sender: Sends news to the other nodes.
    """

    thread_name = "watch-nodes"
    complaint = "nodes not read"

    def __init__(self, store: Store, sender: NewsSender) -> None:
        super().__init__(INTERVAL)
        self._store, self._sender = store, sender
        self._seen: tuple[float, Sequence[ClusterNode]] | None = None

    def wake(self) -> None:
        """Wake the learners because a journal has new entries; never blocks."""
        self._sender.add_entries()

    @property
    def health(self) -> Health:
        """The state of all learners together, as of the last look."""
        if self._seen is None:
            return Health(alive=True, restarts=0, heartbeat_age=None)
        at, nodes = self._seen
        return summarise(nodes, elapsed=time.monotonic() - at)

    def run_round(self) -> None:
        """Look at the nodes."""
        self._seen = time.monotonic(), self._store.nodes()


def summarise(nodes: Sequence[ClusterNode], *, elapsed: float = 0.0) -> Health:
    """The health of the learners among the nodes, as they were ``elapsed`` seconds ago."""
    learners = [node for node in nodes if node.role == "learner" and node.age < SECONDS]
    if not learners:
        return Health(alive=False, restarts=0, heartbeat_age=None)
    told = [node.content for node in learners]
    outages = [each["outage"] for each in told if each.get("outage")]
    return Health(
        alive=True,
        restarts=0,
        heartbeat_age=elapsed + min(node.age for node in learners),
        queue=sum(each.get("queue", 0) for each in told),
        training=sum(each.get("training", 0) for each in told),
        degraded={zone: why for each in told for zone, why in each.get("degraded", {}).items()},
        outage=outages[0] if outages else None,
        updating=tuple(zone for each in told for zone in each.get("updating", ())),
    )
