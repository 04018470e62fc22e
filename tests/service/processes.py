"""Processes of tests: who is whose child, and waiting for what they do."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")
PATIENCE = 300.0
"""Seconds that a busy machine may take for anything."""


def until(condition: Callable[[], T], seconds: float = PATIENCE) -> T:
    """Wait for a condition to be true, and return what it gave."""
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, "it did not come to that in time"
        time.sleep(0.02)  # leave the cores to those waited for
    return found


def spawned(parent: int | None = None) -> list[int]:
    """Python processes that a process (this one by default) has spawned and that are alive."""
    wanted = os.getpid() if parent is None else parent
    return [pid for pid, owner in _processes() if owner == wanted and _is_python(pid)]


def niced(niceness: int, parent: int | None = None) -> int | None:
    """One that has made itself so nice; training workers do when they begin to train."""
    for pid in spawned(parent):
        try:
            if os.getpriority(os.PRIO_PROCESS, pid) == niceness:
                return pid
        except ProcessLookupError:
            continue
    return None


def alive(pid: int) -> bool:
    """Whether a process is there and not dead already."""
    return any(pid == each for each, _ in _processes())


def _processes() -> Iterator[tuple[int, int]]:
    """Numbers and parents of the processes that are alive."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                state, parent = (entry / "stat").read_text().rpartition(")")[2].split()[:2]
            except (FileNotFoundError, ProcessLookupError):
                continue
            if state not in "ZX":
                yield int(entry.name), int(parent)


def _is_python(pid: int) -> bool:
    """Multiprocessing has another process, which keeps track of resources."""
    try:
        return b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return False
