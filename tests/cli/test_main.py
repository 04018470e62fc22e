"""The command as a process: exit codes, one sentence on stderr, and every option documented."""

import argparse
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from clearwatt import __version__
from clearwatt.cli.main import build_parser, main

ROOT = Path(__file__).parents[2]


CLEARWATT = [sys.executable, "-m", "clearwatt"]


def test_version():
    done = subprocess.run([*CLEARWATT, "--version"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, f"clearwatt {__version__}\n")


def test_a_full_disk_is_told_in_one_sentence():
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*CLEARWATT, "data", "list"], stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert done.returncode == 2
    assert re.fullmatch(rb"clearwatt: [^\n]*[Nn]o space left[^\n]*\n", done.stderr)


def test_a_closed_pipe_is_quiet():
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as closed:
        done = subprocess.run(
            [*CLEARWATT, "data", "list"], stdout=closed, stderr=subprocess.PIPE, check=False
        )
    assert done.stderr == b""
    assert done.returncode == 141


def test_ctrl_c_ends_with_130(csv_folder):
    about = csv_folder / "ABOUT.md"
    about.unlink()
    os.mkfifo(about)  # reading it blocks, so that the command is surely under way
    running = subprocess.Popen(
        [*CLEARWATT, "data", "check", str(csv_folder)], stderr=subprocess.PIPE, text=True
    )
    with about.open("w"):  # returns once the command has opened the other end
        running.send_signal(signal.SIGINT)
        _, err = running.communicate(timeout=300)
    assert running.returncode == 130
    assert err == "clearwatt: interrupted\n"


def commands(
    parser: argparse.ArgumentParser, name: str = "clearwatt"
) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Yield every command that can be run, by its full name."""
    nested = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
    if not nested:
        yield name, parser
    for action in nested:
        for part, child in action.choices.items():
            yield from commands(child, f"{name} {part}")


def test_every_command_and_option_is_documented():
    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    for name, parser in commands(build_parser()):
        assert f"## `{name}" in page, f"docs/cli.md has no section '## `{name} …`'"
        section = page.split(f"## `{name}", 1)[1].split("\n## ", 1)[0]
        for action in parser._actions:
            shown = action.option_strings[-1] if action.option_strings else str(action.metavar)
            if shown != "--help":
                assert shown in section, f"docs/cli.md does not document {name} {shown}"


def test_every_documented_option_exists():
    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    known = {"--help", "--version"}
    for _, parser in commands(build_parser()):
        known.update(option for action in parser._actions for option in action.option_strings)
    assert set(re.findall(r"--[a-z][a-z-]+", page)) <= known


def test_an_interrupt_that_a_library_turns_into_an_error_ends_with_130(monkeypatch, capsys):
    def interrupted_library(_: object) -> None:
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            raise RuntimeError("cannot go on") from None

    monkeypatch.setattr(sys.modules["clearwatt.cli.main"], "_run", interrupted_library)
    assert main([]) == 130
    assert capsys.readouterr().err == "clearwatt: interrupted\n"
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_error_without_an_interrupt_is_raised(monkeypatch):
    def broken(_: object) -> None:
        raise RuntimeError("a mistake of ours")

    monkeypatch.setattr(sys.modules["clearwatt.cli.main"], "_run", broken)
    with pytest.raises(RuntimeError, match="a mistake of ours"):
        main([])
