"""A learner that is cut off from the database loses its zones, and may not write them later."""

import logging
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

from .network import Network, NoNetworkError, start_server
from .nodes import cluster

_LOG = logging.getLogger(__name__)
BLOCKS = 8


@pytest.fixture
def network():
    found = Network()
    try:
        found.start()
        yield found
    except NoNetworkError as error:
        pytest.skip(str(error))
    finally:
        found.remove()


@pytest.fixture
def server(network):
    """Addresses of a PostgreSQL server, by its socket and over the link."""
    with tempfile.TemporaryDirectory(prefix="cw-cut-", ignore_cleanup_errors=True) as folder:
        yield start_server(Path(folder), network)
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
        nodes.add("far", "learner", prefix=network.prefix, database=far)
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
