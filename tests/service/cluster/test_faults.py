"""Random faults of any node and of the database, under load: nothing is lost, all forecasts come.

In the end every zone is as one undisturbed process has it.
"""

import logging
import random
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import pytest
from tests.long_runs import run_seconds
from tests.service.conftest import SCRIPT
from tests.service.durability.conftest import uninterrupted
from tests.service.durability.delivery import ZONES, World, in_order
from tests.service.durability.feeding import Feeder, asking, free_port, settle
from tests.service.durability.remains import check_same, remains
from tests.service.processes import until
from tests.service.running import PATIENCE

from clearwatt.service.client import Client

from .balancer import balancer
from .nodes import Cluster, cluster

_LOG = logging.getLogger(__name__)
pytestmark = [pytest.mark.slow, pytest.mark.long]

CI_SECONDS = 60.0
LEARNERS = ("learner-1", "learner-2", "learner-3")
WEBS = ("web-1", "web-2")
BEYOND_THE_LEASE = 20.0
BLOCKS_A_MINUTE = 12


class Faults:
    """Faults drawn at random, one at a time; at least one web node is always left alone."""

    def __init__(self, nodes: Cluster, server: Path, ports: dict[str, str]) -> None:
        self._nodes, self._server, self._ports = nodes, server, ports
        self._rng = random.Random(7)
        self.counts = {"learner": 0, "paused": 0, "web": 0, "database": 0}
        self.takeovers: list[float] = []

    def strike(self, client: Client) -> None:
        """One fault, and the wait until everyone is back."""
        kind = self._rng.choice([*self.counts])
        self.counts[kind] += 1
        _LOG.info("fault: %s", kind)
        if kind == "learner":
            self._kill_learner(client)
        elif kind == "paused":
            self._pause_learner()
        elif kind == "web":
            name = self._rng.choice(WEBS)
            self._nodes.nodes[name].kill()
            self._nodes.add(name, "web", "--port", self._ports[name])
        else:
            for word in ("stop", "start"):
                subprocess.run([SCRIPT, word, self._server], check=True, capture_output=True)

    def _kill_learner(self, client: Client) -> None:
        name = self._rng.choice(LEARNERS)
        zones = {node.name: node.zones for node in client.cluster().nodes}.get(name, [])
        self._nodes.nodes[name].kill()
        began = time.monotonic()
        if zones:
            until(lambda: self._is_held(client, zones[0], name), PATIENCE)
            self.takeovers.append(time.monotonic() - began)
        self._nodes.add(name, "learner")

    def _is_held(self, client: Client, zone: str, other_than: str) -> bool:
        nodes = client.cluster().nodes
        return any(zone in node.zones for node in nodes if node.name != other_than)

    def _pause_learner(self) -> None:
        node = self._nodes.nodes[self._rng.choice(LEARNERS)]
        node.pause()
        time.sleep(BEYOND_THE_LEASE)  # the fault itself: longer than a lease lasts
        node.resume()


@pytest.fixture
def server():
    """The folder of a PostgreSQL server that may be stopped."""
    with tempfile.TemporaryDirectory(prefix="cw-cluster-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)
        subprocess.run([SCRIPT, "stop", folder], check=False, timeout=300)


def test_random_faults_lose_nothing_and_fail_no_forecast(server, tmp_path):
    seconds = run_seconds(CI_SECONDS)
    blocks = max(12, int(BLOCKS_A_MINUTE * seconds / 60))
    (tmp_path / "twin").mkdir()
    twin = uninterrupted(tmp_path / "twin", blocks)
    world, requests = World(blocks), World(blocks).requests(in_order)
    started = subprocess.run(
        [SCRIPT, "start", server], capture_output=True, text=True, check=True, timeout=600
    )
    database, ports = started.stdout.strip(), {name: free_port() for name in WEBS}
    with cluster(tmp_path, database) as nodes:
        for name in WEBS:
            nodes.web(name, "--port", ports[name])
        for name in LEARNERS:
            nodes.add(name, "learner")
        with (
            balancer(tmp_path, list(ports.values())) as url,
            Client(url) as client,
            Feeder(url, requests, pause=seconds / len(requests)) as feeder,
        ):
            world.begin(client)
            settle(client)
            faults = Faults(nodes, server, ports)
            feeder.allow(len(requests))
            broken: list[str] = []
            with asking(url, list(ZONES), broken=broken) as answers:
                deadline = time.monotonic() + seconds
                while time.monotonic() < deadline or min(faults.counts.values()) == 0:
                    faults.strike(client)
                feeder.deliver(patience=PATIENCE + seconds)
            settle(client, PATIENCE + seconds)
            # Those in flight on a killed node, if the load balancer had begun with their answer.
            assert len(broken) <= faults.counts["web"], broken
            assert len(answers) > seconds, "forecasts were asked for all the time"
            models = sum(each == {"model"} for each in answers)
            # A web node that was started just before the database stopped has no weather yet.
            assert models > 0.9 * len(answers), f"{models} of {len(answers)} by a model"
        for name in (*LEARNERS, *WEBS):
            assert nodes.nodes[name].stop() == 0
    waits = faults.takeovers
    _LOG.info("%s; %d forecasts, %d by models", faults.counts, len(answers), models)
    _LOG.info("%d answers broke off", len(broken))
    if waits:
        _LOG.info("take-over: median %.1f s, worst %.1f s", statistics.median(waits), max(waits))
    check_same(remains(tmp_path, database, cluster=True), twin.remains)
