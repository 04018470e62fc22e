"""A learner that is cut off from the database loses its zones, and may not write them later."""

import logging
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import pytest
from tests.service.conftest import SCRIPT
from tests.service.durability.conftest import uninterrupted
from tests.service.durability.delivery import ZONES, World, in_order
from tests.service.durability.feeding import Feeder, settle
from tests.service.durability.remains import check_same, remains
from tests.service.processes import until
from tests.service.running import PATIENCE

from clearwatt.service.client import Client

from .nodes import cluster

_LOG = logging.getLogger(__name__)
BLOCKS = 8
HERE, THERE = "10.231.7.1", "10.231.7.2"


class Network:
    """A host of its own, behind a link that can be cut."""

    def __init__(self) -> None:
        self.name, self.link = f"cw{os.getpid()}", f"cwl{os.getpid()}"

    def start(self) -> None:
        """Make the host and the link."""
        inside = ("ip", "netns", "exec", self.name)
        for command in (
            ("ip", "netns", "add", self.name),
            ("ip", "link", "add", self.link, "type", "veth", "peer", "eth0", "netns", self.name),
            ("ip", "addr", "add", f"{HERE}/24", "dev", self.link),
            ("ip", "link", "set", self.link, "up"),
            (*inside, "ip", "addr", "add", f"{THERE}/24", "dev", "eth0"),
            (*inside, "ip", "link", "set", "eth0", "up"),
        ):
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                pytest.skip(f"no network of its own can be made: {done.stderr.strip()}")

    def cut(self, *, off: bool) -> None:
        """Cut the link, or join it again."""
        subprocess.run(["ip", "link", "set", self.link, "down" if off else "up"], check=True)

    def remove(self) -> None:
        """Remove the host; the link goes with it."""
        subprocess.run(["ip", "netns", "del", self.name], check=False, capture_output=True)


@pytest.fixture
def network():
    if shutil.which("ip") is None:
        pytest.skip("there is no command 'ip' to make a network with")
    found = Network()
    try:
        found.start()
        yield found
    finally:
        found.remove()


@pytest.fixture
def server(network):
    """Addresses of a PostgreSQL server, by its socket and over the link."""
    with tempfile.TemporaryDirectory(prefix="cw-cut-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        for word in ("start", "stop"):
            subprocess.run([SCRIPT, word, folder], check=True, capture_output=True, timeout=600)
        with (folder / "data" / "postgresql.conf").open("a") as file:
            file.write(f"listen_addresses = '{HERE}'\n")
        with (folder / "data" / "pg_hba.conf").open("a") as file:
            file.write(f"host all all {THERE}/32 scram-sha-256\n")
        started = subprocess.run(
            [SCRIPT, "start", folder], check=True, capture_output=True, text=True, timeout=600
        )
        near = started.stdout.strip()
        password = near.removeprefix("postgresql://clearwatt:").partition("@")[0]
        yield near, f"postgresql://clearwatt:{password}@{HERE}/postgres"
        subprocess.run([SCRIPT, "stop", folder], check=False, timeout=300)


@pytest.mark.slow
def test_a_learner_that_is_cut_off_is_replaced_and_comes_back(network, server, tmp_path):
    near, far = server
    (tmp_path / "twin").mkdir()
    twin = uninterrupted(tmp_path / "twin", BLOCKS)
    world, requests = World(BLOCKS), World(BLOCKS).requests(in_order)
    with cluster(tmp_path, near) as nodes:
        url = nodes.web("web-1")
        nodes.add("near", "learner")
        inside = ("ip", "netns", "exec", network.name)
        nodes.add("far", "learner", prefix=inside, database=far)
        with Client(url) as client, Feeder(url, requests) as feeder:

            def zones() -> dict[str, list[str]]:
                return {node.name: node.zones for node in client.cluster().nodes}

            world.begin(client)
            until(lambda: zones().get("far") and zones().get("near"), PATIENCE)
            feeder.deliver(len(requests) // 2)
            network.cut(off=True)
            began = time.monotonic()
            until(lambda: zones().get("near") == sorted(ZONES), PATIENCE)
            _LOG.info("taken over %.1f s after the cut", time.monotonic() - began)
            feeder.deliver()
            settle(client)
            network.cut(off=False)
            until(lambda: zones().get("far"), PATIENCE)
            settle(client)
        for name in ("far", "near", "web-1"):
            assert nodes.nodes[name].stop() == 0
    check_same(remains(tmp_path, near, cluster=True), twin.remains)
