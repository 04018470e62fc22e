"""Random faults of any node and of the database, under load: nothing is lost, all forecasts come.

In the end every zone is as one undisturbed process has it.
"""

import logging
import subprocess
import tempfile
from pathlib import Path

import pytest
from tests.long_runs import MINUTES
from tests.service.conftest import SCRIPT
from tests.service.durability.feeding import asking, free_port, settle
from tests.service.durability.remains import check_same, remains
from tests.service.running import PATIENCE

from clearwatt.service.client import Client

from .balancer import balancer
from .faults import LEARNERS, WEBS, Faults
from .network import Network, NoNetworkError, start_server
from .nodes import cluster
from .region import Region, feeding, undisturbed

_LOG = logging.getLogger(__name__)
pytestmark = [pytest.mark.slow, pytest.mark.long]

FAULTS, ROWS = (12, 24) if MINUTES is None else (200, 200)
"""Faults, and hours of readings of each zone that arrive meanwhile."""
PAUSE = 0.5
"""Seconds between two requests of a stream."""
ASKED = 0.1
"""Seconds between two forecasts that are asked for."""


@pytest.fixture
def network():
    """A host of its own for a learner, or None where there can be none."""
    found = Network()
    try:
        found.start()
    except NoNetworkError as error:
        _LOG.warning("no learner is cut off: %s", error)
        found.remove()
        yield None
    else:
        yield found
        found.remove()


@pytest.fixture
def server():
    """The folder of a PostgreSQL server that may be stopped."""
    with tempfile.TemporaryDirectory(prefix="cw-cluster-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)
        subprocess.run([SCRIPT, "stop", folder], check=False, timeout=300)


def test_random_faults_lose_nothing_and_fail_no_forecast(server, network, tmp_path):
    region = Region(ROWS)
    expected = undisturbed(tmp_path / "twin", region)
    addresses, ports = start_server(server, network), {name: free_port() for name in WEBS}
    broken: list[str] = []
    with cluster(tmp_path, addresses.near) as nodes:
        url_of_balancer = balancer(tmp_path, list(ports.values()))
        faults = Faults(nodes, server, addresses, network=network, url="")
        for name in WEBS:
            faults.start(name, ports[name])
        for name in LEARNERS:
            faults.start(name)
        with (
            url_of_balancer as url,
            Client(url) as client,
            feeding(url, region, pause=PAUSE) as feeders,
        ):
            faults.url = url
            region.begin(client)
            settle(client, 2 * PATIENCE)
            feeders.allow(1 / FAULTS)
            with asking(url, region.zones, broken=broken, pause=ASKED) as answers:
                faults.strike(FAULTS, done=lambda count: feeders.allow((count + 1) / FAULTS))
                feeders.deliver(2 * PATIENCE)
            settle(client, 2 * PATIENCE)
        for name in (*LEARNERS, *WEBS):
            assert nodes.nodes[name].stop() == 0
    models = sum(each == {"model"} for each in answers)
    _LOG.info("%s", faults.report())
    _LOG.info(
        "%d forecasts, %d by models, %d broken off; %d requests acknowledged",
        *(len(answers), models, len(broken), feeders.acknowledged),
    )
    # Those in flight on a killed node, if the load balancer had begun with their answer.
    assert len(broken) <= faults.counts["web node killed"], broken
    assert len(answers) > 10 * FAULTS, "forecasts were asked for all the time"
    # A web node that was started just before the database stopped has no weather yet.
    assert models > 0.9 * len(answers), f"{models} of {len(answers)} by a model"
    check_same(remains(tmp_path, addresses.near, cluster=True), expected)
