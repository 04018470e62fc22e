"""The commands of README and docs/ that need a service run against one."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
from tests.cli.test_experiment import TINY
from tests.cli.test_rollback import LIVELY
from tests.service.processes import until
from tests.service.running import PATIENCE, running, small_grid
from tests.test_concept_pages import code_of
from tests.weather.server import weather_server

from clearwatt.cli import main
from clearwatt.data import Dataset
from clearwatt.service.api.schemas.zones import NewZone
from clearwatt.service.client import Client

from .programs import environment, write_programs
from .shell import ROOT, all_commands
from .treatment import group_of, smaller

pytestmark = pytest.mark.slow

COMMANDS = [command for command in all_commands() if group_of(command) == ["service"]]
PRINTED = "http://127.0.0.1:8000"
DAY = 96
BEGINNINGS = (
    "api() {",
    *("clearwatt replay", "clearwatt forecast", "clearwatt events", "clearwatt rollback"),
    *("clearwatt weather feed", "clearwatt zones delete"),
    *("clearwatt serve", "clearwatt token create", "clearwatt token list"),
    *("clearwatt token revoke", "clearwatt backup", "clearwatt restore", "clearwatt doctor"),
)
"""Beginnings of the commands that the tests here run."""
SMALL_NETWORKS = " ".join(shlex.quote(f"{name}={json.dumps(v)}") for name, v in LIVELY.items())


def having(*beginnings: str) -> list[str]:
    """The commands that begin so, in the order of the beginnings."""
    assert set(beginnings) <= set(BEGINNINGS)
    found = [each for start in beginnings for each in COMMANDS if each.startswith(start)]
    assert found, beginnings
    return found


def household(entity: str, zone: str, hours: int = 200) -> Dataset:
    """A data set of one entity with two changes of its behaviour."""
    whole = small_grid(hours)
    power = whole.power[["park"]].set_axis([entity], axis=1)
    return Dataset.from_frames(power, {zone: whole.weather["north"]}, {entity: "consumer"})


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The working directory, with the files that the pages take for granted."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CLEARWATT_CACHE", str(tmp_path / "cache"))
    household("household_block_01", "region").save("my-grid")
    household("household_block_02", "other").save("my-days")
    return tmp_path


def run(command: str, capsys: pytest.CaptureFixture[str]) -> str:
    """What a command prints; it must succeed."""
    code = main(shlex.split(command)[1:])
    printed = capsys.readouterr()
    assert code == 0, f"{command}: {printed.err}"
    return printed.out


@contextmanager
def under_way(folder: Path, command: str) -> Iterator[subprocess.Popen[str]]:
    """A command that runs until it is told to stop, after which it must end well."""
    words = [sys.executable, "-m", *shlex.split(command)]
    process = subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE, text=True)
    try:
        yield process
        process.send_signal(signal.SIGTERM)
        printed, _ = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, printed
    finally:
        process.kill()
        process.communicate()


def test_no_command_is_left_out():
    left = [command for command in COMMANDS if not command.startswith(BEGINNINGS)]
    assert left == [], "give these a test in this file"


def test_commands_of_a_running_service(folder, monkeypatch, capsys):
    """Registered by the calls of service.md, played to, asked, fed and deleted."""
    recently = (datetime.now(UTC) - timedelta(days=3)).date().isoformat()
    with running(folder / "data") as service, weather_server() as weather, Client(service.url) as c:
        places = {
            "url": service.url, "weather": weather.url, "recently": recently,
            "settings": SMALL_NETWORKS,
        }  # fmt: skip
        (script,) = having("api() {")
        printed = subprocess.run(
            ["bash", "-euc", smaller(script, **places)], capture_output=True, text=True, check=True
        ).stdout
        assert '"status":' not in printed, printed  # of a problem
        assert '"park-7"' in printed.splitlines()[-1]
        for command in having("clearwatt replay", "clearwatt forecast", "clearwatt events"):
            run(smaller(command, **places), capsys)
        before = c.entity("household_block_01").predictor
        (rollback,) = having("clearwatt rollback")
        run(smaller(rollback, **places), capsys)
        assert c.entity("household_block_01").predictor != before
        c.add_zone(
            NewZone(
                id="open-meteo", step=3600, variables=["temperature_2m"],
                settings={"coordinates": {"latitude": 54.35, "longitude": 18.65}},
            )
        )  # fmt: skip
        for command in having("clearwatt weather feed"):
            run(smaller(command, **places), capsys)
        assert weather.queries
        monkeypatch.delenv("CLEARWATT_TOKEN", raising=False)
        names: dict[str, Any] = {}
        code = code_of("client.md")
        assert PRINTED in code
        exec(compile(code.replace(PRINTED, service.url), "client.md", "exec"), names)
        (forecast,) = names["tomorrow"].forecasts
        assert len(forecast.values) == DAY
        assert forecast.sources[0] in capsys.readouterr().out
        for command in having("clearwatt zones delete"):
            run(smaller(command, **places), capsys)
        assert {zone.id for zone in c.zones().zones} == {"region", "other", "open-meteo"}


def is_ready(url: str) -> bool:
    try:
        with urlopen(f"{url}/readyz", timeout=PATIENCE) as answer:
            return answer.status == 200
    except HTTPError:  # the learner starts
        return False


def serves(folder: Path, command: str) -> None:
    """Start a service by the command, ask it whether it is ready, and stop it."""
    with under_way(folder, smaller(command)) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("serving at http://127.0.0.1:"), line
        until(lambda: is_ready(line.split()[2]), PATIENCE)


def test_services_that_are_started_kept_and_examined(folder, capsys):
    """Each from its own folder; one with the models of an experiment."""
    (folder / "tiny.toml").write_text(TINY.replace('"E", "Ra", "G"', '"Re"'))
    household("household_block_01", "region", 1200).save("my-grid", overwrite=True)
    experiment = "clearwatt experiment run --preset small --data my-grid --out my-run"
    run(smaller(experiment), capsys)
    for command in having("clearwatt serve"):
        if "restored" not in command:
            serves(folder, command)
    for command in having("clearwatt token create"):
        run(smaller(command), capsys)
    (listed,) = having("clearwatt token list")
    token = re.search(r"\b[0-9a-f]{8}\b", run(smaller(listed), capsys))
    assert token is not None
    for command in having("clearwatt token revoke"):
        run(smaller(command, token=token[0]), capsys)
    assert token[0] not in run(smaller(listed), capsys)
    for command in having("clearwatt backup", "clearwatt restore", "clearwatt doctor"):
        run(smaller(command), capsys)
    (restored,) = [command for command in COMMANDS if "serve --data-dir restored" in command]
    serves(folder, restored)


def test_make_demo_runs_its_commands(folder, capsys):
    (folder / "tiny.toml").write_text(TINY)
    programs = write_programs(folder / "bin")
    printed = subprocess.run(
        ["make", "-n", "demo", "READY=", f"BIN={programs}", f"OUT={folder / 'demo'}"],
        cwd=ROOT, env=environment(programs), capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    commands = [line.replace(f"{programs}{os.sep}", "") for line in printed.splitlines()]
    commands = [command for command in commands if command.startswith("clearwatt ")]
    assert [command.split()[1] for command in commands] == [
        "simulate", "data", "experiment", "experiment",
    ]  # fmt: skip
    for command in commands:
        run(smaller(command), capsys)
    assert "<title>" in (folder / "demo" / "index.html").read_text()
