"""Entry point of the command line: the parser of all commands, and error messages."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

from clearwatt import __version__
from clearwatt.cli import (
    backup,
    benchmark,
    cluster,
    confirm,
    data,
    doctor,
    events,
    experiment,
    feed,
    forecast,
    models,
    prior,
    registry,
    replay,
    rollback,
    serve,
    simulate,
    token,
    weather,
)
from clearwatt.errors import ClearwattError

COMMANDS = (
    *(simulate, data, weather, experiment, benchmark, prior),
    *(serve, token, feed, replay, forecast, events, models, rollback, confirm, registry),
    *(cluster, backup, doctor),
)
"""Modules of the commands, in the order of the help."""

USER_ERROR = 2
INTERRUPTED = 130  # 128 + SIGINT, as shells report it
BROKEN_PIPE = 141  # 128 + SIGPIPE


class _Parser(argparse.ArgumentParser):
    """Argument parser that reports errors like the commands: one sentence, exit code 2."""

    def error(self, message: str) -> NoReturn:
        self.exit(USER_ERROR, f"clearwatt: {message}; see '{self.prog} --help'\n")


def build_parser() -> argparse.ArgumentParser:
    """The parser of all commands."""
    parser: argparse.ArgumentParser = _Parser(
        prog="clearwatt", description="Power forecasts that keep learning.", allow_abbrev=False
    )
    parser.add_argument("--version", action="version", version=f"clearwatt {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in COMMANDS:
        command.register(commands)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    with _count_interrupts() as interrupts:
        try:
            return _run_and_report(arguments)
        except KeyboardInterrupt:
            return _fail("interrupted", INTERRUPTED)
        except Exception:
            # A library may turn an interrupt into an error of its own, or fail in cleaning up.
            if not interrupts:
                raise
            return _fail("interrupted", INTERRUPTED)


@contextmanager
def _count_interrupts() -> Iterator[list[int]]:
    """Collect the interrupts of the block; each raises KeyboardInterrupt, as by default."""
    received: list[int] = []
    if (
        threading.current_thread() is not threading.main_thread()
        or signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    ):
        yield received
        return

    def interrupt(number: int, frame: FrameType | None) -> NoReturn:
        received.append(number)
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, interrupt)
    try:
        yield received
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _run_and_report(arguments: Sequence[str] | None) -> int:
    try:
        _run(arguments)
    except BrokenPipeError:
        return _flush(BROKEN_PIPE)
    except ClearwattError as error:
        return _fail(str(error), USER_ERROR)
    except MemoryError:
        return _fail("not enough memory; use less data at a time", USER_ERROR)
    except OSError as error:
        return _fail(_explain(error), USER_ERROR)
    return 0


def _run(arguments: Sequence[str] | None) -> None:
    try:
        options = build_parser().parse_args(arguments)
        options.run(options)
    finally:
        sys.stdout.flush()  # raises for a full disk or closed pipe here, not at interpreter exit


def _fail(message: str, code: int) -> int:
    sys.stderr.write(f"clearwatt: {' '.join(message.split())}\n")
    return _flush(code)


def _flush(code: int) -> int:
    """Flush stdout, or discard its content if it cannot be written; returns the code."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code


def _explain(error: OSError) -> str:
    where = f" ({error.filename})" if error.filename else ""
    return (
        f"the operating system reports an error{where}: {error.strerror or error}; check the path, "
        "its permissions and the free disk space"
    )
