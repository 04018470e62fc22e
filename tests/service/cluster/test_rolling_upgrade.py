"""A cluster is upgraded node by node, as `docs/cluster.md` says, while it is used.

No forecast fails, no acknowledged reading is lost, and in the end every zone is as one undisturbed
process has it, if both releases learn alike.
"""

import logging
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.service.durability.feeding import asking, free_port, settle
from tests.service.durability.remains import check_same, remains
from tests.service.processes import until
from tests.service.running import PATIENCE

from clearwatt.service.client import Client

from .balancer import ROOT, balancer
from .faults import SEEN_BY_THE_BALANCER, node_url
from .nodes import Cluster, cluster
from .region import LIMITS, Region, feeding, undisturbed

_LOG = logging.getLogger(__name__)

RELEASE = "ba6b9bec4aedcbef1bdf6fc98b4fb798b8eb76a2"
"""A commit before the last change of tables; best one that learns as today."""
EARLIER = os.environ.get("CLEARWATT_TEST_RELEASE", RELEASE)
WEBS, LEARNERS = ("web-1", "web-2"), ("learner-1", "learner-2")
ROWS, ZONES = 24, 12
PAUSE, ASKED = 0.3, 0.05


@pytest.fixture
def earlier(tmp_path) -> Path:
    """The sources of an earlier release."""
    folder = tmp_path / "earlier"
    folder.mkdir()
    packed = subprocess.run(
        ["git", "-C", ROOT, "archive", EARLIER, "src"], capture_output=True, check=False
    )
    if packed.returncode:
        reason = packed.stderr.decode().strip()
        pytest.skip(f"the sources of {EARLIER} are not in this clone: {reason}")
    subprocess.run(["tar", "x", "-C", folder], input=packed.stdout, check=True)
    found = subprocess.run(
        [sys.executable, "-c", "import clearwatt; print(clearwatt.__file__)"],
        env={**os.environ, "PYTHONPATH": str(folder / "src")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.startswith(str(folder)), "nodes would run the present release"
    return folder / "src"


class Upgrade:
    """Starts nodes of the earlier release, and replaces them by ones of the present release."""

    def __init__(self, nodes: Cluster, earlier: Path) -> None:
        self._nodes = nodes
        self._earlier = _using(earlier)
        self._ports = {name: free_port() for name in WEBS}

    @property
    def ports(self) -> list[str]:
        """Of the web nodes."""
        return list(self._ports.values())

    def start_earlier(self) -> None:
        """Start all nodes with the earlier release."""
        for name in (*WEBS, *LEARNERS):
            self._start(name, self._earlier)

    def replace_learner(self, name: str, client: Client) -> None:
        """Drain, stop and start a learner."""
        client.drain_node(name)
        until(lambda: not _zones(client, name), PATIENCE)
        self._replace(name)
        until(lambda: _zones(client, name), PATIENCE)

    def replace_web(self, name: str) -> None:
        """Stop and start a web node, and wait until the load balancer uses it."""
        self._replace(name)
        url = node_url(self._nodes, name)
        until(lambda: httpx.get(f"{url}/healthz").is_success, PATIENCE)
        time.sleep(SEEN_BY_THE_BALANCER)

    def _replace(self, name: str) -> None:
        began = time.monotonic()
        assert self._nodes.nodes[name].stop() == 0
        self._start(name)
        _LOG.info("%s replaced in %.1f s", name, time.monotonic() - began)

    def _start(self, name: str, prefix: tuple[str, ...] = ()) -> None:
        options = ("--port", self._ports.get(name, "0"), *LIMITS)
        self._nodes.add(name, name.partition("-")[0], *options, prefix=prefix)


def _using(release: Path) -> tuple[str, ...]:
    """What runs a command with the sources of a release."""
    return ("env", f"PYTHONPATH={release}")


def _expected(folder: Path, release: Path, region: Region) -> dict[str, Any]:
    """What does not depend on which release has applied which entry.

    All of it if both learn alike; otherwise what was received.
    """
    ours = undisturbed(folder / "twin", region)
    theirs = undisturbed(folder / "twin-of-before", region, prefix=_using(release))
    if ours["states"] == theirs["states"]:
        return ours
    _LOG.warning("%s learns otherwise: only the journals are compared", EARLIER)
    return {"journals": ours["journals"]}


def _zones(client: Client, name: str) -> list[str]:
    return next((node.zones for node in client.cluster().nodes if node.name == name), [])


@pytest.mark.slow
def test_a_cluster_is_upgraded_node_by_node_without_a_lost_forecast(postgres, earlier, tmp_path):
    region = Region(ROWS, ZONES)
    expected = _expected(tmp_path, earlier, region)
    with cluster(tmp_path, postgres) as nodes:
        upgrade = Upgrade(nodes, earlier)
        upgrade.start_earlier()
        with (
            balancer(tmp_path, upgrade.ports) as url,
            Client(url) as client,
            feeding(url, region, pause=PAUSE) as feeders,
        ):
            region.begin(client)
            settle(client)
            steps = [
                lambda: _backup(postgres, earlier, tmp_path),
                *(lambda name=name: upgrade.replace_learner(name, client) for name in LEARNERS),
                *(lambda name=name: upgrade.replace_web(name) for name in WEBS),
            ]
            with asking(url, region.zones, pause=ASKED) as answers:
                for number, step in enumerate(steps, start=1):
                    feeders.allow(number / (len(steps) + 1))
                    step()
                feeders.deliver()
            settle(client)
        for name in (*LEARNERS, *WEBS):
            assert nodes.nodes[name].stop() == 0
    _LOG.info("%d forecasts, all by models; %d requests", len(answers), feeders.acknowledged)
    assert len(answers) > 100
    assert all(each == {"model"} for each in answers), "a forecast was a fallback"
    check_same(remains(tmp_path, postgres, cluster=True), expected)


def _backup(database: str, release: Path, folder: Path) -> None:
    """As an administrator makes one before an upgrade; a newer release would change the tables."""
    subprocess.run(
        [
            *(*_using(release), sys.executable, "-m", "clearwatt", "backup"),
            *("--data-dir", folder / "web-1", "--database", database, "--to", folder / "backup"),
        ],
        check=True,
        timeout=PATIENCE,
    )
