"""A real full disk: nothing comes in, forecasts go on, and so does all else once there is room."""

import subprocess

import pytest
from tests.service.processes import until
from tests.service.running import PATIENCE, running

from clearwatt.service.client import Client

from .conftest import Twin
from .delivery import ZONES, in_order
from .feeding import Feeder, asking, settle
from .harm import fill
from .remains import check_same, remains

pytestmark = [pytest.mark.xdist_group("durability"), pytest.mark.slow]

FULL = 507


@pytest.fixture
def small_disk(tmp_path):
    """A folder on a disk of its own."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=48m", "tmpfs", folder]
    mounted = subprocess.run(command, capture_output=True, text=True, check=False)
    if mounted.returncode:
        pytest.skip(f"a small disk cannot be mounted: {mounted.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


def test_a_full_disk_stops_nothing_but_what_must_be_written(twin: Twin, small_disk):
    requests = twin.world.requests(in_order)
    with (
        running(small_disk) as service,
        Client(service.url) as client,
        Feeder(service.url, requests) as feeder,
    ):
        twin.world.begin(client)
        feeder.deliver(len(requests) // 3)
        until(lambda: all(zone.state == "learning" for zone in client.zones().zones), PATIENCE)
        with asking(service.url, list(ZONES)) as answers:
            fill(small_disk / "ballast")
            feeder.allow(len(requests))
            until(lambda: FULL in feeder.refusals, PATIENCE)
            fill(small_disk / "more")  # what a write that failed has left
            taken, asked = feeder.acknowledged, len(answers)
            until(lambda: len(answers) > asked + 20, PATIENCE)
            assert feeder.acknowledged == taken < len(requests)
            for each in ("ballast", "more"):
                (small_disk / each).unlink()
            feeder.deliver()
            settle(client)
        assert feeder.refusals == {FULL}
        assert service.stop() == 0
    assert set().union(*answers) == {"model"}
    check_same(remains(small_disk), twin.remains)
