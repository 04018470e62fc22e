"""A real `clearwatt serve` in its own processes, and their memory."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp

from load.processes import children, resident

POSTGRES = Path(__file__).parents[2] / "scripts" / "postgres"
UNLIMITED = ("--rate", "1e9", "--burst", "1000000000")
"""All callers have one address, and limits are per caller; they are not measured here."""
INTERVAL = 0.5
"""Seconds between two samples of the memory."""


class Memory:
    """Peak resident memory of a process and its children: of each, and of all together."""

    def __init__(self, process: int) -> None:
        self.peaks: dict[str, int] = {}
        self.together = 0
        self._root, self._done = process, threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def stop(self) -> dict[str, int]:
        """Stop sampling and return the peaks."""
        self._done.set()
        self._thread.join()
        return {**self.peaks, "all at once": self.together}

    def _watch(self) -> None:
        while not self._done.wait(INTERVAL):
            found = dict(_family(self._root))
            for name, size in found.items():
                self.peaks[name] = max(size, self.peaks.get(name, 0))
            self.together = max(self.together, sum(found.values()))


class Service:
    """A service that listens at ``url``."""

    def __init__(self, url: str, memory: Memory, data_dir: Path) -> None:
        self.url, self.memory, self.data_dir = url, memory, data_dir


@contextmanager
def serving(database: str | None = None) -> Iterator[Service]:
    """Start a service on an empty data directory; it stops at the end of the block."""
    with TemporaryDirectory(prefix="cw-load-") as folder, (Path(folder) / "log").open("w") as log:
        command = [sys.executable, "-m", "clearwatt", "serve", "--data-dir", f"{folder}/data"]
        options = ["--port", "0", "--log-level", "error", *UNLIMITED]
        options += ["--database", database] if database else []
        with subprocess.Popen(
            [*command, *options], stdout=subprocess.PIPE, stderr=log, text=True
        ) as process:
            try:
                line = process.stdout.readline() if process.stdout else ""
                if not line.startswith("serving at "):
                    raise RuntimeError(f"the service did not start: {Path(log.name).read_text()}")
                yield Service(line.split()[2], Memory(process.pid), Path(folder) / "data")
            finally:
                process.terminate()
                process.wait(timeout=60)
        complaints = Path(log.name).read_text()
        if complaints:
            print(f"the service's log:\n{complaints[:2000]}", file=sys.stderr)


@contextmanager
def postgres() -> Iterator[str]:
    """Start a private PostgreSQL server; yields the address of its database."""
    with postgres_server() as (address, _):
        yield address


@contextmanager
def postgres_server() -> Iterator[tuple[str, Path]]:
    """Start a private PostgreSQL server; yields its address and the folder of its data."""
    # Directly below the temporary folder, because the server runs as another user.
    folder = mkdtemp(prefix="cw-pg-")
    started = subprocess.run(
        [POSTGRES, "start", folder], check=True, stdout=subprocess.PIPE, text=True
    )
    try:
        yield started.stdout.strip(), Path(folder) / "data"
    finally:
        subprocess.run([POSTGRES, "stop", folder], check=True)
        subprocess.run(["rm", "-rf", folder], check=True)


def _family(root: int) -> Iterator[tuple[str, int]]:
    """Names and resident bytes of the processes of the service."""
    yield "web", resident(root)
    for learner in _spawned(root):
        yield "learner", resident(learner)
        for number, worker in enumerate(_spawned(learner), 1):
            yield f"training {number}", resident(worker)


def _spawned(parent: int) -> list[int]:
    """Child processes of the project, without the resource tracker of multiprocessing."""
    return [child for child in children(parent) if b"spawn_main" in _command(child)]


def _command(process: int) -> bytes:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return b""
