"""Check of an executor: every item once, in any order, even if workers are killed."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from clearwatt.compute import Executor
from clearwatt.errors import DataError


def check_executor(compute: Executor, folder: Path) -> None:
    """Check results, errors and recovery of an executor; raises AssertionError.

    Args:
        compute: The executor; its workers are killed, unless they run in this process.
        folder: Empty folder that the workers can write to.
    """
    _check_results(compute)
    _check_errors(compute)
    if compute.workers > 1 or _pid_of_worker(compute) != os.getpid():
        _check_killed_worker(compute, folder)


def power(base: int, exponent: int) -> int:
    """Work with a simple result."""
    return int(base**exponent)


def refuse(shared: None, item: int) -> int:
    """Work that raises DataError at one item."""
    if item == 2:
        raise DataError("item 2 is refused")
    return item


def die_once(folder: str, item: int) -> int:
    """Work that kills its process the first time it processes item 3."""
    mark = Path(folder) / "died"
    if item == 3 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return 10 * item


def die(shared: None, item: int) -> int:
    """Work that always kills its process."""
    os.kill(os.getpid(), signal.SIGKILL)
    return item


def pid(shared: None, item: int) -> int:
    """Work that returns the id of its process."""
    return os.getpid()


def _check_results(compute: Executor) -> None:
    for base in (2, 3):  # the shared value must not persist between calls
        found = sorted(compute.map(power, base, range(7)))
        assert found == [(i, base**i) for i in range(7)], f"wrong results: {found}"
    assert list(compute.map(power, 2, [])) == [], "results without an item"


def _check_errors(compute: Executor) -> None:
    try:
        list(compute.map(refuse, None, range(4)))
    except DataError as error:
        assert "item 2 is refused" in str(error), f"the message is lost: {error}"
    else:
        raise AssertionError("an error in a worker went unnoticed")
    _check_results(compute)  # it must still work after the error


def _check_killed_worker(compute: Executor, folder: Path) -> None:
    found = sorted(compute.map(die_once, str(folder), range(6)))
    assert (folder / "died").exists(), "no worker was killed"
    assert found == [(i, 10 * i) for i in range(6)], f"a killed worker cost results: {found}"


def _pid_of_worker(compute: Executor) -> int:
    return next(result for _, result in compute.map(pid, None, [0]))
