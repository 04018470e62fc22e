"""Nodes of a real cluster in their own processes, and what they and the database use."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from clearwatt.service.client import Client
from load.processes import family, proportional
from load.server import UNLIMITED

INTERVAL = 5.0
"""Seconds between two samples of the memory."""
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Node:
    """A node that runs; ``url`` is empty for a learner."""

    name: str
    process: subprocess.Popen[str]
    url: str


@contextmanager
def nodes(
    folder: Path, database: str, *, learners: int, options: Sequence[str] = ()
) -> Iterator[list[Node]]:
    """One web node and learner nodes; ``options`` are those of the learners."""
    running: list[Node] = []
    try:
        names = {f"learner-{number}": "learner" for number in range(learners)} | {"web-0": "web"}
        for name, role in names.items():
            given = UNLIMITED if role == "web" else options
            running.append(start_node(folder, database, name, role, given))
        yield running
    finally:
        for node in running:
            node.process.send_signal(signal.SIGTERM)
        for node in running:
            node.process.wait(timeout=120)


def node_command(folder: Path, database: str, name: str, role: str) -> list[str]:
    """What starts a node at any free port."""
    command = [sys.executable, "-m", "clearwatt", "serve", "--role", role, "--node", name]
    command += ["--data-dir", str(folder / name), "--database", database, "--port", "0"]
    return [*command, "--log-level", "error"]


def announced_url(process: subprocess.Popen[str]) -> str | None:
    """The address that a node announces, empty for a learner; None if it did not start."""
    words = process.stdout.readline().split() if process.stdout else []
    if words[:2] not in (["serving", "at"], ["learning", "as"]):
        return None
    return words[2] if words[0] == "serving" else ""


def start_node(
    folder: Path, database: str, name: str, role: str, options: Sequence[str] = ()
) -> Node:
    """Start a node; its log is a file in the folder."""
    command = [*node_command(folder, database, name, role), *options]
    if role == "learner":
        command += ["--workers", "1"]
    with (folder / f"{name}.log").open("a") as log:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
    url = announced_url(process)
    if url is None:
        raise RuntimeError(f"{name} did not start: {(folder / f'{name}.log').read_text()[-2000:]}")
    return Node(name, process, url)


def wait_for_shares(url: str, learners: int) -> None:
    """Wait until all learners have the same share of all zones."""
    with Client(url) as client:
        while True:
            cluster = client.cluster()
            shares = [len(node.zones) for node in cluster.nodes if node.role == "learner"]
            most = -(-sum(shares) // learners)
            if len(shares) == learners and max(shares) <= most and not cluster.unheld:
                return
            time.sleep(0.5)


class Usage:
    """Peak memory and processor time of nodes and of a PostgreSQL server.

    Args:
        nodes: The nodes.
        data: Folder of the server's data.
    """

    def __init__(self, nodes: Sequence[Node], data: Path) -> None:
        self._roots = {node.name: node.process.pid for node in nodes}
        self._roots["postgres"] = int((data / "postmaster.pid").read_text().split()[0])
        self.peaks: dict[str, int] = {}
        self.together = 0
        self._seconds: dict[int, tuple[str, float]] = {}
        self._lock, self._done = threading.Lock(), threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def seconds(self) -> dict[str, float]:
        """Processor time of each node and of the server so far, of ended processes too."""
        self._sample()
        with self._lock:
            found = dict.fromkeys(self._roots, 0.0)
            for name, seconds in self._seconds.values():
                found[name] += seconds
            return found

    def stop(self) -> dict[str, int]:
        """Stop sampling and return the peaks of memory in bytes."""
        self._done.set()
        self._thread.join()
        return {**self.peaks, "all at once": self.together}

    def _watch(self) -> None:
        while not self._done.wait(INTERVAL):
            self._sample()

    def _sample(self) -> None:
        with self._lock:
            found = {name: self._measure(name, root) for name, root in self._roots.items()}
            for name, size in found.items():
                self.peaks[name] = max(size, self.peaks.get(name, 0))
            self.together = max(self.together, sum(found.values()))

    def _measure(self, name: str, root: int) -> int:
        """Memory of a process and its descendants; notes their processor time.

        A page that several of them share counts once: nine processes import the same libraries.
        """
        total = 0
        for process in family(root):
            self._seconds[process] = (
                name,
                _seconds(process) or self._seconds.get(process, (name, 0.0))[1],
            )
            total += proportional(process)
        return total


def _seconds(process: int) -> float:
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / _TICKS
