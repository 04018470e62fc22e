"""All at once, under a steady load: kills, a full disk, damage, restarts, hostile callers.

No acknowledged reading is lost, no forecast fails unless a restart is under way, memory and disk
stay within bounds, and the state in the end is that of a service that nobody has touched.
"""

import logging
import subprocess
import tempfile
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.long_runs import run_seconds
from tests.service.conftest import SCRIPT
from tests.service.durability.delivery import HISTORY, HOUR, START
from tests.service.durability.feeding import CaughtUp, Feeder, free_port, settle
from tests.service.durability.remains import check_same, remains
from tests.service.processes import until
from tests.service.running import PATIENCE, Running, running

from clearwatt.service.client import Client

from .bounds import MEGABYTE, Usage
from .hostile import HostileCallers
from .load import FORECASTS_A_SECOND, READINGS_A_SECOND, WIDE_NAMES, Askers, Load, Windows, steady
from .mishaps import Mishaps

_LOG = logging.getLogger(__name__)
pytestmark = [pytest.mark.slow, pytest.mark.long]

CI_SECONDS = 30.0
WEB_MEMORY, OTHER_MEMORY = 800 * MEGABYTE, 2000 * MEGABYTE
"""Bounds of the web process, and of the learner with its workers together."""
BYTES_A_READING, OTHER_BYTES = 250, 160 * MEGABYTE
"""Bounds of the disk: what a reading takes, and checkpoints, models and the write-ahead log."""


@pytest.fixture(scope="module")
def seconds():
    return run_seconds(CI_SECONDS)


@pytest.fixture(scope="module")
def undisturbed(seconds, tmp_path_factory):
    """What the load leads to without any trouble."""
    folder, load = tmp_path_factory.mktemp("undisturbed"), Load(seconds)
    with running(folder / "data") as service, Client(service.url) as client:
        load.begin(client)
        with Feeder(service.url, load.requests(), repeat=False) as feeder:
            feeder.deliver(patience=PATIENCE + seconds)
        settle(client, PATIENCE + 2 * seconds)
        assert service.stop() == 0
    return remains(folder / "data")


@pytest.fixture
def small_disk(seconds, tmp_path):
    """A disk with room for the load and little else."""
    folder = tmp_path / "disk"
    folder.mkdir()
    size = int(BYTES_A_READING * READINGS_A_SECOND * seconds) + 2 * OTHER_BYTES
    command = ["mount", "-t", "tmpfs", "-o", f"size={size},mode=0700", "tmpfs", folder]
    mounted = subprocess.run(command, capture_output=True, text=True, check=False)
    if mounted.returncode:
        pytest.skip(f"a small disk cannot be mounted: {mounted.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


@pytest.fixture(params=["sqlite", "postgres"])
def server(request):
    """The folder of a PostgreSQL server that may be killed; None: SQLite."""
    if request.param == "sqlite":
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="cw-chaos-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)
        subprocess.run([SCRIPT, "stop", folder], check=False, timeout=60)


def start_server(folder: Path) -> str:
    started = subprocess.run(
        [SCRIPT, "start", folder], capture_output=True, text=True, check=False, timeout=600
    )
    if started.returncode:
        pytest.skip(f"PostgreSQL could not be started: {started.stderr.strip()[-500:]}")
    return started.stdout.strip()


def test_chaos(undisturbed, server, small_disk, seconds, caplog):
    caplog.set_level(logging.INFO, __name__)
    load, windows, port = Load(seconds), Windows(), free_port()
    database = start_server(server) if server else None
    options = ["--port", port, *(["--database", database] if database else [])]
    with ExitStack() as stack:

        def start() -> Running:
            return stack.enter_context(running(small_disk, *options))

        mishaps = Mishaps(small_disk, start, database=database, server=server, windows=windows)
        url = mishaps.service.url
        with Client(url, patience=PATIENCE) as client:
            load.begin(client)
            until(lambda: all(zone.state == "learning" for zone in client.zones().zones), PATIENCE)
            with (
                Usage(mishaps) as usage,
                Feeder(url, load.requests(), repeat=False) as feeder,
                Askers(url, windows) as askers,
                HostileCallers(int(port), windows) as hostile,
            ):
                with steady(feeder, seconds):
                    mishaps.happen(seconds)
                feeder.deliver(patience=PATIENCE + seconds)
            settle(client, PATIENCE + 2 * seconds)
            until(CaughtUp(url), PATIENCE + 2 * seconds)
        assert mishaps.service.stop() == 0
    _LOG.info(
        "%s; forecasts: %d, %d in restarts, slowest %.1f s; %d odd requests; restarts %.0f s; "
        "MB: web %d, others %d, disk %d",
        dict(mishaps.counts),
        *(askers.answered, askers.excused, askers.slowest, hostile.requests, windows.seconds),
        *(part // MEGABYTE for part in (usage.web, usage.others, usage.disk)),
    )
    assert askers.failures == []
    assert hostile.failures == []
    assert hostile.requests > 50
    assert askers.answered + askers.excused >= 0.8 * FORECASTS_A_SECOND * seconds
    assert all(mishaps.counts[kind.__name__] for kind in mishaps.kinds)
    assert usage.web < WEB_MEMORY
    assert usage.others < OTHER_MEMORY
    assert usage.disk < BYTES_A_READING * READINGS_A_SECOND * seconds + OTHER_BYTES
    found = remains(small_disk, database)
    check_all_there(found, load)
    check_models(found, undisturbed, mishaps.damaged)


def check_all_there(found: dict, load: Load) -> None:
    """Every acknowledged reading of the many meters is stored with its value."""
    power = load.power(HISTORY, HISTORY + load.rows)
    times = [START + HOUR * (HISTORY + row) for row in range(load.rows)]
    for column, name in enumerate(WIDE_NAMES):
        stored = {time: float(value) for time, value, _ in found["readings"][name]}
        expected = dict(zip(times, power[:, column].tolist(), strict=True))
        assert {time: stored.get(time) for time in times} == expected, name


def check_models(found: dict, expected: dict, damaged: set[str]) -> None:
    """Everything is as without trouble, except that versions whose files rotted are marked."""
    lost = {name for name, facts in found["versions"].items() if facts[0] == "damaged"}
    assert lost <= damaged
    for state in (found, expected):
        state["versions"] = {k: v for k, v in state["versions"].items() if k not in lost}
    check_same(found, expected)
