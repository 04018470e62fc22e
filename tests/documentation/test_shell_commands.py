"""Every shell command of README and docs/ runs, or the table of treatments says why not."""

import re
import shlex
import shutil
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from tests.cli.test_experiment import TINY
from tests.imports.exports import instants, number, power, rows, stamps, write_text
from tests.weather.server import weather_server

from clearwatt.cli.main import main
from clearwatt.data import Dataset, simulate_grid
from clearwatt.data.catalogue import CATALOGUE

from .shell import ROOT, all_commands, page_commands
from .treatment import ELSEWHERE, FILES, NOT_RUN, SERVICE, STARTED, group_of, smaller

COMMANDS = all_commands()
ZONE = "Europe/Warsaw"


def of_group(group: str) -> list[str]:
    return [command for command in COMMANDS if group_of(command) == [group]]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[:70])
def test_each_command_has_one_treatment(command):
    groups = group_of(command)
    assert len(groups) == 1, f"{command!r} is in {groups}; list it once in treatment.py"


def test_each_treatment_has_a_command_and_says_why():
    for pattern in (*NOT_RUN, *ELSEWHERE, *STARTED, *SERVICE, *FILES):
        assert any(re.match(pattern, command) for command in COMMANDS), f"{pattern!r} is stale"
    for path in ELSEWHERE.values():
        assert (ROOT / path).exists(), path
    for command in of_group("not run"):
        reason = next(why for pattern, why in NOT_RUN.items() if re.match(pattern, command))
        sys.stdout.write(f"not run: {command}: {reason}\n")
        assert len(reason) > 20


def windy(names: list[str], zones: list[str], *, step: str = "h", count: int = 1500) -> Dataset:
    """A small data set with the names of a large one."""
    times = pd.date_range("2012-01-01", periods=count, freq=step, tz="UTC", name="time")
    rng = np.random.default_rng(0)
    wind = {zone: rng.random(count) for zone in dict.fromkeys(zones)}
    weather = {zone: pd.DataFrame({"wind_ms": own}, index=times) for zone, own in wind.items()}
    shares = {name: wind[zone] ** 2 for name, zone in zip(names, zones, strict=True)}
    entities = pd.DataFrame({"kind": "generator", "capacity": 1.0, "zone": zones}, index=names)
    return Dataset.from_frames(pd.DataFrame(shares, index=times), weather, entities)


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    """A folder with what the pages take for granted, and the cache with the catalogue."""
    folder = tmp_path_factory.mktemp("pages")
    simulate_grid(entities=8, steps=2500).save(folder / "my-grid")
    (folder / "tiny.toml").write_text(TINY)
    for name, first, last in (("readings", 1, 3), ("tonight", 3, 4)):
        times = instants(f"2024-05-0{first}", f"2024-05-0{last}", ZONE)
        lines = rows(stamps(times, ZONE, "%d.%m.%Y %H:%M"), power(times, "park-7"), number(","))
        write_text(folder / f"{name}.csv", [["Czas", "park-7 [kW]"], *lines], ";")
    farms = [f"wf{k}" for k in range(1, 9)]
    windy(farms, ["coast"] * 8).save(folder / "europe_wind_farm")
    windy(["wind"], ["poland"], step="15min", count=3000).save(folder / "pse_poland_15min")
    own = folder / "research"
    own.mkdir()
    for page, file in (("strategies.md", "strategies.py"), ("experiment.md", "networks.py")):
        text = (ROOT / "docs" / page).read_text(encoding="utf-8")
        blocks = re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
        marks = ("class FadingFamiliarity", "# research/networks.py")
        (code,) = [block for block in blocks if any(mark in block for mark in marks)]
        (own / file).write_text(code, encoding="utf-8")
    return folder


@pytest.fixture
def here(workspace, monkeypatch):
    """The workspace as the working directory."""
    monkeypatch.setenv("CLEARWATT_CACHE", str(workspace / "cache"))
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.chdir(workspace)
    for name, names in (
        ("gefcom2012-wind", [f"wp{k}" for k in range(1, 5)]),
        ("gefcom2012-load", [f"zone{k}" for k in (1, 2, 9, 10)]),
    ):
        if not CATALOGUE[name].folder.exists():
            windy(names, [f"z{each}" for each in names]).save(CATALOGUE[name].folder)
    return workspace


def run(command: str) -> int:
    """Run a command in this process; what a shell would write to a file is printed."""
    words = shlex.split(command.partition(" > ")[0])
    assert words[0] == "clearwatt"
    return main(words[1:])


def remove_results(command: str) -> None:
    """Another command of the pages may have written other results to the same folder."""
    found = re.search(r"--out (\S+)", command)
    if found and re.match("clearwatt (experiment|benchmark|simulate)", command):
        shutil.rmtree(found[1], ignore_errors=True)


@pytest.mark.slow
@pytest.mark.parametrize("command", of_group("files"), ids=lambda command: command[:90])
def test_a_command_on_files_runs(command, here, capsys):
    with weather_server() as server:
        given = smaller(command, weather=server.url)
        remove_results(given)
        if "--out imported" in given and "--append" not in given:
            given += " --overwrite"
        expected = 2 if given == "clearwatt data import readings.csv --dry-run" else 0  # it asks
        assert run(given) == expected, f"{given}: {capsys.readouterr().err}"


@pytest.mark.slow
@pytest.mark.parametrize("program", sorted({each.split()[1] for each in of_group("started")}))
def test_a_program_of_the_clone_starts(program):
    words = [sys.executable, str(ROOT / program), "--help"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    given = {word for each in of_group("started") if program in each for word in each.split()}
    options = {word for word in given if word.startswith("--")}
    assert options <= set(re.findall(r"--[\w-]+", done.stdout))


def test_pages_are_read_as_a_shell_reads_them(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "```console\n$ clearwatt a && clearwatt b \\\n    --c   # why\nprinted\n# root --x\n```\n"
        "```text\nclearwatt no\n```\n```bash\npython d.py # e\n```\n"
    )
    found = page_commands(page)
    assert [" ".join(each.split()) for each in found] == [
        "clearwatt a", "clearwatt b --c", "root --x", "python d.py",
    ]  # fmt: skip
