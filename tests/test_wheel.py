"""The wheel, installed outside the clone as the README says: every command runs, with all files.

The new environment reads the dependencies of this one instead of downloading them.
"""

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import urlopen

import pytest
from tests.documentation.programs import write_programs

from clearwatt import __version__
from clearwatt.cli.main import build_parser

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "src" / "clearwatt"
pytestmark = pytest.mark.slow
EXPORT = "time;farm [kW];town [kW]\n" + "".join(
    f"2024-01-{day:02} {hour:02}:00;{hour + day / 7:.3f};{40 - hour}.5\n".replace(".", ",")
    for day in range(1, 5)
    for hour in range(24)
)


def environment() -> dict[str, str]:
    """Without the clone's sources."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """What `make wheel` builds from a copy of the tracked files that it needs."""
    copy, out = tmp_path_factory.mktemp("clone"), tmp_path_factory.mktemp("dist")
    for name in ("Makefile", "pyproject.toml", "constraints.txt", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy / name)
    shutil.copytree(SOURCES, copy / "src" / "clearwatt", ignore=shutil.ignore_patterns("__pyc*"))
    # Setuptools is that of this environment, and nothing is downloaded. The variable stands for an
    # option that switches something off, so that pip reads 0 as "no isolation".
    subprocess.run(
        ["make", "wheel", "READY=", f"BIN={Path(sys.executable).parent}", f"DIST={out}/dist"],
        cwd=copy,
        env={**environment(), "PIP_NO_BUILD_ISOLATION": "0"},
        check=True,
        timeout=300,
    )
    (found,) = (out / "dist").glob("clearwatt-*.whl")
    assert (out / "dist" / "constraints.txt").exists()
    return found


def install_lines() -> list[str]:
    """The commands of the README's section on installing, as they are printed."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    section = readme.split("## Install without a clone", 1)[1]
    return re.findall(r"^\$ (.*)", section.split("```")[1], re.MULTILINE)


@pytest.fixture(scope="module")
def command(wheel) -> Path:
    """The command `clearwatt` in a new environment, made by the README's lines.

    In place of an index, the environment finds the packages of this one: pip asks for each of them,
    in the versions of constraints.txt, and does not find one missing.
    """
    create, *installs, serve = install_lines()
    assert serve == "clearwatt serve --data-dir live"
    packages = sysconfig.get_path("purelib")
    own = "$(echo clearwatt-env/lib/python*/site-packages)"
    # Python 3.11 brings an old setuptools, which pip would replace by one from the index.
    found = f"rm -rf {own}/setuptools*; echo {packages} > {own}/found.pth"
    programs = write_programs(wheel.parent / "bin")
    subprocess.run(
        ["bash", "-euc", "\n".join([create, found, *installs])],
        cwd=wheel.parent,
        env={
            **environment(),
            "PATH": f"{programs}:{os.environ['PATH']}",
            "PIP_NO_INDEX": "1",
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        },
        check=True,
        timeout=900,
    )
    return wheel.parent / "clearwatt-env" / "bin" / "clearwatt"


@pytest.fixture
def run(command, tmp_path):
    """Run the command in an empty folder and return what it prints."""

    def ran(*words: str) -> str:
        done = subprocess.run(
            [str(command), *words],
            cwd=tmp_path,
            env=environment(),
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return ran


def test_the_wheel_has_every_file_of_the_package_and_no_other(wheel):
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if name.startswith("clearwatt/")}
        (metadata,) = (name for name in archive.namelist() if name.endswith("METADATA"))
        extras = set(re.findall(r"^Provides-Extra: (\S+)", archive.read(metadata).decode(), re.M))
    files = {
        f"clearwatt/{path.relative_to(SOURCES)}"
        for path in SOURCES.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert packed == files
    assert {"service", "postgres", "excel", "benchmark", "ray", "river"} <= extras


def test_the_installed_package_is_the_one_that_runs(command, run):
    assert run("--version") == f"clearwatt {__version__}\n"
    python = command.parent / "python"
    where = subprocess.run(
        [str(python), "-c", "import clearwatt; print(clearwatt.__file__)"],
        cwd=command.parent,
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert Path(where.stdout.strip()).is_relative_to(command.parents[1])


def names(parser: argparse.ArgumentParser, *before: str) -> Iterator[tuple[str, ...]]:
    """Every command, by its words."""
    nested = [each for each in parser._actions if isinstance(each, argparse._SubParsersAction)]
    if not nested:
        yield before
    for action in nested:
        for word, child in action.choices.items():
            yield from names(child, *before, word)


def test_every_command_explains_itself(run):
    for words in names(build_parser()):
        assert run(*words, "--help").startswith(f"usage: clearwatt {' '.join(words)}")


def test_data_are_simulated_imported_and_described(run, tmp_path):
    run("simulate", "--out", "grid", "--entities", "3", "--steps", "2000")
    run("data", "describe", "grid", "--html", "grid.html")
    assert "<title>" in (tmp_path / "grid.html").read_text()
    (tmp_path / "export.csv").write_text(EXPORT)
    options = ("--timezone", "Europe/Warsaw", "--interval", "start", "--decimal", "comma")
    run("data", "import", "export.csv", *options, "--out", "mine", "--json")
    assert (tmp_path / "mine" / "power.parquet").exists()


def test_own_code_is_found_in_the_working_directory(command, tmp_path):
    (tmp_path / "research.py").write_text("def idea(): ...\n")
    refused = subprocess.run(
        [str(command), "experiment", "run", "--out", "run", "--instances", "research:Mine"],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert refused.stderr == "clearwatt: module 'research' has no 'Mine'; it has idea\n"


@contextmanager
def service(command: Path, folder: Path) -> Iterator[str]:
    """The address of a running service."""
    process = subprocess.Popen(
        [str(command), "serve", "--data-dir", "live", "--port", "0", "--workers", "1"],
        cwd=folder,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        yield process.stdout.readline().split()[2].rstrip("/")
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=300) == 0
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_the_dashboard_is_served_with_its_templates_and_static_files(command, tmp_path):
    with service(command, tmp_path) as address:
        page = urlopen(f"{address}/", timeout=300).read().decode()
        assert "ClearWatt" in page
        static = sorted(set(re.findall(r'"(/static/[^"]+)"', page)))
        assert len(static) > 2
        for path in static:
            assert urlopen(f"{address}{path}", timeout=300).read()
