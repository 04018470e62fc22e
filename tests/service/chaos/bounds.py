"""Memory and disk of a service while it runs."""

from __future__ import annotations

import threading
from contextlib import suppress
from pathlib import Path

from tests.service.durability.harm import family

from .mishaps import Mishaps

MEGABYTE = 2**20


class Usage:
    """The largest memory of each process, and of what lies on the disk."""

    def __init__(self, mishaps: Mishaps) -> None:
        self.web, self.others, self.disk = 0, 0, 0
        self._mishaps, self._ended = mishaps, threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Usage:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._ended.wait(1.0):
            pid = self._mishaps.service.process.pid
            self.web = max(self.web, resident(pid))
            self.others = max(self.others, sum(map(resident, family(pid))))
            self.disk = max(self.disk, disk_use(self._mishaps.data_dir))


def resident(pid: int) -> int:
    """Bytes of a process in memory; 0 if it has ended."""
    with suppress(FileNotFoundError, ProcessLookupError, StopIteration):
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        return 1024 * int(next(line for line in lines if line.startswith("VmRSS")).split()[1])
    return 0


def disk_use(folder: Path) -> int:
    """Bytes of the files below a folder, without the ballast of a full disk."""
    total = 0
    for file in folder.rglob("*"):
        with suppress(FileNotFoundError):
            total += file.stat().st_size if file.is_file() and file.name != "ballast" else 0
    return total
