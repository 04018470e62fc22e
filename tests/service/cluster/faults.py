"""Random faults of a cluster, several at once, each of a different node or of the database."""

from __future__ import annotations

import logging
import random
import statistics
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
from tests.service.conftest import SCRIPT
from tests.service.processes import until
from tests.service.running import PATIENCE

from clearwatt.service.client import Client, ServiceError, ServiceUnreachableError

from .network import Addresses, Network
from .nodes import Cluster

_LOG = logging.getLogger(__name__)

LEARNERS = ("learner-1", "learner-2", "learner-3")
FAR = LEARNERS[-1]
"""The learner that is on a host of its own, if there can be one."""
WEBS = ("web-1", "web-2")
BEYOND_THE_LEASE = 20.0
SEEN_BY_THE_BALANCER = 2.0
"""Seconds within which HAProxy uses a node that answers again; it looks every second."""
UNTIL_IT_HOLDS_ZONES = 15.0
AT_ONCE = 3
DATABASE = "database"


class Faults:
    """Faults drawn at random, some at the same time; one node of each role is always left alone.

    Args:
        nodes: The cluster.
        server: Folder of its PostgreSQL server.
        addresses: Of its database.
        network: The host of one of the learners, if there is one.
        url: The load balancer.
    """

    def __init__(
        self,
        nodes: Cluster,
        server: Path,
        addresses: Addresses,
        *,
        network: Network | None,
        url: str,
    ) -> None:
        self._nodes, self._server, self._addresses = nodes, server, addresses
        self._network, self.url = network, url
        self._rng, self._lock = random.Random(7), threading.Lock()
        self._busy: set[str] = set()
        self.counts: Counter[str] = Counter()
        self.takeovers: list[float] = []
        self.failed_starts = 0
        self._ports: dict[str, str] = {}
        self._kinds: dict[str, Callable[[str], None]] = {
            "learner killed": self._kill_learner,
            "learner paused": self._pause,
            "web node killed": self._kill_web,
            "database restarted": self._restart_database,
        }
        if network is not None:
            self._kinds["learner cut off"] = self._cut_off

    def start(self, name: str, port: str = "0") -> None:
        """Start a node; as systemd does, again if it ends because the database is away."""
        role, far = name.partition("-")[0], self._network is not None and name == FAR
        prefix = self._network.prefix if self._network is not None and far else ()
        database = self._addresses.far if far else self._addresses.near
        self._ports[name] = port
        options = ("--port", port, "--rate", "1e9", "--burst", "1000000000")
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                self._nodes.add(name, role, *options, prefix=prefix, database=database)
                return
            except AssertionError:
                assert time.monotonic() < deadline, f"{name} does not start"
                self.failed_starts += 1
                time.sleep(1)

    def strike(self, count: int, *, done: Callable[[int], None]) -> None:
        """So many faults; ``done`` is called with the number of those that are over."""
        failures: list[BaseException] = []
        left = iter(range(count))

        def work() -> None:
            try:
                while not failures and self._next(left) is not None:
                    self._strike_once()
                    with self._lock:
                        done(self.counts.total() - len(self._busy))
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=work, daemon=True) for _ in range(AT_ONCE)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failures:
            raise failures[0]

    def report(self) -> str:
        """Counts and durations in one line."""
        waits = self.takeovers
        found = f"{self.counts.total()} faults: {dict(self.counts)}; "
        found += f"{self.failed_starts} starts failed without database; {len(waits)} take-overs"
        if waits:
            found += f", median {statistics.median(waits):.1f} s, worst {max(waits):.1f} s"
        return found

    def _next(self, left: Iterator[int]) -> int | None:
        with self._lock:
            return next(left, None)

    def _strike_once(self) -> None:
        kind, target = self._draw()
        _LOG.info("fault %d: %s, %s", self.counts.total(), kind, target)
        try:
            self._kinds[kind](target)
        finally:
            with self._lock:
                self._busy.remove(target)

    def _draw(self) -> tuple[str, str]:
        """A kind of fault and what it hits, which no other fault does at the time."""
        with self._lock:
            choices = [
                (kind, target)
                for kind in self._kinds
                if (target := self._free_target(kind)) is not None
            ]
            # A rare one of those possible now; faults of learners take longest and are rarest.
            least = min(self.counts[kind] for kind, _ in choices)
            rare = [each for each in choices if self.counts[each[0]] == least]
            kind, target = self._rng.choice(rare)
            self._busy.add(target)
            self.counts[kind] += 1
            return kind, target

    def _free_target(self, kind: str) -> str | None:
        if kind == "database restarted":
            free = {DATABASE} - self._busy
        elif kind == "web node killed":
            free = set() if self._busy & set(WEBS) else set(WEBS)
        elif len(self._busy & set(LEARNERS)) == len(LEARNERS) - 1:
            free = set()  # one is left to take over
        elif kind == "learner cut off":
            free = {FAR} - self._busy
        else:
            free = set(LEARNERS) - self._busy
        return self._rng.choice(sorted(free)) if free else None

    def _kill_learner(self, name: str) -> None:
        with self._taken_over(name):
            self._nodes.nodes[name].kill()
        self.start(name)

    def _pause(self, name: str) -> None:
        node = self._nodes.nodes[name]
        with self._taken_over(name, least=BEYOND_THE_LEASE):
            node.pause()
        node.resume()

    def _cut_off(self, name: str) -> None:
        assert self._network is not None
        with self._taken_over(name, least=BEYOND_THE_LEASE):
            self._network.cut(off=True)
        self._network.cut(off=False)

    def _kill_web(self, name: str) -> None:
        node = self._nodes.nodes[name]
        node.kill()
        self.start(name, self._ports[name])
        until(lambda: httpx.get(f"{node_url(self._nodes, name)}/healthz").is_success, PATIENCE)
        time.sleep(SEEN_BY_THE_BALANCER)

    def _restart_database(self, _: str) -> None:
        for word in ("stop", "start"):
            subprocess.run([SCRIPT, word, self._server], check=True, capture_output=True)

    @contextmanager
    def _taken_over(self, name: str, least: float = 0.0) -> Iterator[None]:
        """Let a learner fail, and wait until others hold one of its zones; at least so long."""
        with Client(self.url, patience=PATIENCE) as client:
            zones = self._held_zones(client, name)
            yield
            began = time.monotonic()
            if zones:
                until(lambda: _is_held(client, zones[0], name), PATIENCE)
                took = time.monotonic() - began
                _LOG.info("a zone of %s was taken over after %.1f s", name, took)
                with self._lock:
                    self.takeovers.append(took)
            time.sleep(max(0.0, began + least - time.monotonic()))

    def _held_zones(self, client: Client, name: str) -> list[str]:
        """Zones of a learner; one that was just started is given time to get some."""
        deadline = time.monotonic() + UNTIL_IT_HOLDS_ZONES
        while not (zones := _zones(client).get(name, [])) and time.monotonic() < deadline:
            time.sleep(0.5)
        return zones


def node_url(nodes: Cluster, name: str) -> str:
    """The address of a web node."""
    url = nodes.nodes[name].url
    assert url is not None
    return url


def _zones(client: Client) -> dict[str, list[str]]:
    try:
        return {node.name: node.zones for node in client.cluster().nodes}
    except (ServiceError, ServiceUnreachableError):
        return {}


def _is_held(client: Client, zone: str, other_than: str) -> bool:
    return any(zone in zones for name, zones in _zones(client).items() if name != other_than)
