"""What an executor must do: every item once, in any order, whatever happens to its workers."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from clearwatt.compute import Executor
from clearwatt.errors import DataError


def check_executor(compute: Executor, folder: Path) -> None:
    """Hold an executor to what its users rely on; an AssertionError says what is amiss.

    Args:
        compute: The executor; its workers are killed, unless they are this process.
        folder: An empty folder that the workers can write to.
    """
    _check_results(compute)
    _check_errors(compute)
    if compute.workers > 1 or _pid_of_worker(compute) != os.getpid():
        _check_killed_worker(compute, folder)


def power(base: int, exponent: int) -> int:
    """Work that is easily checked."""
    return int(base**exponent)


def refuse(shared: None, item: int) -> int:
    """Work that fails at one item as a user's data may."""
    if item == 2:
        raise DataError("item 2 is refused")
    return item


def die_once(folder: str, item: int) -> int:
    """Work during which the process is killed, the first time that item 3 is worked on."""
    mark = Path(folder) / "died"
    if item == 3 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return 10 * item


def die(shared: None, item: int) -> int:
    """Work that always takes its process down."""
    os.kill(os.getpid(), signal.SIGKILL)
    return item


def pid(shared: None, item: int) -> int:
    """The process that does the work."""
    return os.getpid()


def _check_results(compute: Executor) -> None:
    for base in (2, 3):  # what is shared must not linger from one call to the next
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
    _check_results(compute)  # and it must go on working


def _check_killed_worker(compute: Executor, folder: Path) -> None:
    found = sorted(compute.map(die_once, str(folder), range(6)))
    assert (folder / "died").exists(), "no worker was killed"
    assert found == [(i, 10 * i) for i in range(6)], f"a killed worker cost results: {found}"


def _pid_of_worker(compute: Executor) -> int:
    return next(result for _, result in compute.map(pid, None, [0]))
