"""What may happen to a service: processes are killed, files are damaged, the disk is full."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from tests.service.processes import niced, spawned
from tests.service.running import Running

from clearwatt.service.learner.updater import NICENESS


def trains(service: Running) -> int | None:
    """The process that has begun to train, if one has."""
    return next(filter(None, (niced(NICENESS, pid) for pid in spawned(service.process.pid))), None)


def family(pid: int) -> Iterator[int]:
    for child in spawned(pid):
        yield from family(child)
        yield child


def kill(service: Running, *, all_at_once: bool) -> None:
    """Kill the service alone (its processes must end by themselves), or all of its processes."""
    processes = list(family(service.process.pid)) if all_at_once else []
    service.kill()
    for pid in processes:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def damage(folder: Path) -> None:
    """Flip a bit of the weights, as a dying disk would."""
    (file,) = folder.glob("*.safetensors")
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(bytes(content))


def fill(file: Path) -> None:
    """Take all the room there is."""
    with pytest.raises(OSError, match="No space left"), file.open("wb", buffering=0) as ballast:
        while True:
            ballast.write(bytes(4096))
