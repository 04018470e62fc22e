"""`make serve` starts empty and says what to do first; `make serve-demo` plays a simulated grid."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import urlopen

import pytest
from tests.documentation.programs import ROOT, environment, write_programs
from tests.service.durability.feeding import free_port
from tests.service.processes import until
from tests.service.running import PATIENCE

from clearwatt.service.client import Client

pytestmark = pytest.mark.slow


@contextmanager
def make(folder: Path, *words: str) -> Iterator[subprocess.Popen[str]]:
    """A target of the Makefile under way, with the packages of this environment."""
    programs = write_programs(folder / "bin")
    with (folder / "errors").open("w") as errors:
        process = subprocess.Popen(
            ["make", "READY=", f"BIN={programs}", f"OUT={folder / 'demo'}", *words],
            cwd=ROOT,
            env=environment(programs),
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        os.killpg(process.pid, signal.SIGINT)  # as Ctrl-C does
        process.communicate(timeout=PATIENCE)


def line_with(process: subprocess.Popen[str], words: str) -> str:
    """The next line with these words that a process prints."""
    assert process.stdout is not None
    return next(line for line in process.stdout if words in line)


def test_serve_opens_on_what_to_do_first(tmp_path):
    with make(tmp_path, "serve", f"DIR={tmp_path / 'live'}", "PORT=0") as process:
        address = line_with(process, "serving at http").split()[2]
        with urlopen(f"{address}/", timeout=PATIENCE) as page:
            assert "<h1>What to do first</h1>" in page.read().decode()


def test_serve_demo_plays_a_simulated_grid(tmp_path):
    with make(tmp_path, "serve-demo", f"PORT={free_port()}") as process:
        address = line_with(process, "open ").split()[1].rstrip("/")
        with Client(address) as client:
            until(lambda: client.entities().entities, PATIENCE)
            played = {entity.id for entity in client.entities().entities}
        assert {"pv_01", "household_block_01"} <= played
