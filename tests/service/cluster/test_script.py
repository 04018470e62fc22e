"""From one machine to several, with the commands of docs/cluster.md."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from tests.service.application import Web, listening
from tests.service.durability.delivery import ZONES, World, in_order
from tests.service.durability.feeding import DAY, Feeder, free_port, settle
from tests.service.processes import until
from tests.service.running import PATIENCE, running

from clearwatt.cli import main
from clearwatt.service.client import Client
from clearwatt.service.store import open_store

ROOT = Path(__file__).parents[3]
BLOCKS = 4


@pytest.fixture
def folder():
    """A folder that the user of PostgreSQL may enter, too."""
    with tempfile.TemporaryDirectory(prefix="cw-script-", ignore_cleanup_errors=True) as name:
        Path(name).chmod(0o755)
        yield Path(name)


def three_ports() -> str:
    """The first of three ports in a row: of the load balancer and the web nodes."""
    ports: set[int] = set()
    while True:
        ports.add(int(free_port()))
        assert len(ports) < 1000, "no three ports in a row are free"
        for port in ports:
            if {port + 1, port + 2} <= ports:
                return str(port)


def run_script(word: str, folder: Path, port: str) -> str:
    environment = {**os.environ, "PORT": port, "PYTHON": sys.executable}
    done = subprocess.run(
        [ROOT / "scripts" / "cluster", word, folder],
        **{"env": environment, "capture_output": True, "text": True, "timeout": 900},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def forecasts(client: Client) -> dict[str, list[float | None]]:
    found = {}
    for zone in ZONES:
        for each in client.zone_forecasts(zone, start=DAY[0], end=DAY[1]).forecasts:
            assert set(each.sources) == {"model"}
            found[each.entity] = each.values
    return found


@pytest.mark.slow
def test_a_service_moves_into_a_cluster_and_a_node_is_drained(folder, capsys):
    """`--role all` on PostgreSQL, `cluster import`, then the cluster of the script."""
    world, port = World(BLOCKS), three_ports()
    started = subprocess.run(
        [ROOT / "scripts" / "postgres", "start", folder / "cluster" / "postgres"],
        **{"capture_output": True, "text": True, "timeout": 600},
        check=True,
    )
    database = started.stdout.strip()
    with (
        running(folder / "one", "--database", database) as service,
        Client(service.url) as client,
        Feeder(service.url, world.requests(in_order)) as feeder,
    ):
        world.begin(client)
        feeder.deliver()
        settle(client)
        before = forecasts(client)
        assert service.stop() == 0
    moved = ["cluster", "import", "--data-dir", str(folder / "one"), "--database", database]
    assert main([*moved, "--json"]) == 0
    counts = json.loads(capsys.readouterr().out)
    assert counts["models"] > 0
    assert counts["checkpoints"] >= len(ZONES)
    try:
        url = run_script("start", folder / "cluster", port)
        with Client(url) as client:
            settle(client)
            assert forecasts(client) == before, "the cluster forecasts with other models"
            until(lambda: len([n for n in client.cluster().nodes if n.zones]) == 2, PATIENCE)
            assert main(["cluster", "drain", "learner-1", "--url", url]) == 0
            assert "learner-1" in capsys.readouterr().out
            until(lambda: node(client, "learner-2").zones == sorted(ZONES), PATIENCE)
            assert node(client, "learner-1").state == "draining"
            assert main(["cluster", "resume", "learner-1", "--url", url, "--json"]) == 0
            assert json.loads(capsys.readouterr().out)["state"] == "running"
            until(lambda: node(client, "learner-1").zones, PATIENCE)
            assert main(["cluster", "status", "--url", url]) == 0
            shown = capsys.readouterr().out
            for name in ("learner-1", "learner-2", "web-1", "web-2"):
                assert name in shown
            assert main(["cluster", "drain", "nobody", "--url", url]) == 2
            assert "nobody" in capsys.readouterr().err
    finally:
        run_script("stop", folder / "cluster", port)


def node(client: Client, name: str):
    return next(node for node in client.cluster().nodes if node.name == name)


def test_a_service_on_one_machine_says_so(tmp_path, capsys):
    web = Web(tmp_path)
    with listening(web) as url:
        assert main(["cluster", "status", "--url", url]) == 0
    web.close()
    assert "one machine" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--role", "web"], "share a PostgreSQL database"),
        (["--role", "learner", "--node", "a b/c"], "'a b/c'"),
        (["--node", "web-1"], "is no node"),
        (["--role", "web", "--from", "run"], "cluster import"),
        (["--role", "web", "--keep-journal", "90d"], "a folder that they share"),
        (["--role", "learner", "--keep-journal", "90d", "--archive", "a"], "--role web"),
    ],
)
def test_options_that_do_not_fit_are_explained(words, said, tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("CLEARWATT_DATABASE_URL", raising=False)
    (tmp_path / "run").mkdir()
    assert main(["serve", "--data-dir", str(tmp_path / "data"), *words]) == 2
    assert said in capsys.readouterr().err


def test_a_cluster_and_a_whole_service_do_not_share_a_database(postgres, tmp_path, capsys):
    store = open_store(postgres)
    try:
        with store.shared():
            words = ["serve", "--data-dir", str(tmp_path / "a"), "--database", postgres]
            assert main(words) == 2
            assert "another service uses" in capsys.readouterr().err
        with store.exclusive():
            assert main([*words, "--role", "learner"]) == 2
            assert "no node of a cluster" in capsys.readouterr().err
    finally:
        store.close()


def test_an_empty_folder_is_not_imported(postgres, tmp_path, capsys):
    words = ["cluster", "import", "--data-dir", str(tmp_path), "--database", postgres]
    assert main(words) == 2
    assert "neither models nor checkpoints" in capsys.readouterr().err
