"""Real nodes of a cluster, each in processes of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.service.processes import spawned


class Node:
    """A node; ``url`` is None for a learner.

    Args:
        name: Its name.
        command: What starts it.
        log: File of its log.
    """

    def __init__(self, name: str, command: Sequence[str], log: Path) -> None:
        self.name, self._command, self._log = name, command, log
        self.url: str | None = None
        self.process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Start it and wait for its first line."""
        with self._log.open("a") as log:
            self.process = subprocess.Popen(
                self._command, stdout=subprocess.PIPE, stderr=log, text=True
            )
        assert self.process.stdout is not None
        words = self.process.stdout.readline().split()
        assert words[:2] in (["serving", "at"], ["learning", "as"]), f"{words}: {self._log}"
        self.url = words[2] if words[0] == "serving" else None

    @property
    def pids(self) -> list[int]:
        """All processes of the node, its training workers included."""
        assert self.process is not None
        found = [self.process.pid]
        for pid in found:
            found += spawned(pid)
        return found

    def kill(self) -> None:
        """Kill every process of the node, as a power cut would."""
        for pid in self.pids:
            os.kill(pid, signal.SIGKILL)
        assert self.process is not None
        self.process.wait()

    def pause(self) -> None:
        """Stop every process of the node, as a hanging machine would."""
        for pid in self.pids:
            os.kill(pid, signal.SIGSTOP)

    def resume(self) -> None:
        """Let it go on."""
        for pid in self.pids:
            os.kill(pid, signal.SIGCONT)

    def stop(self) -> int:
        """Stop it as an administrator would; its exit code."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=120)

    def close(self) -> None:
        """End it, whatever state it is in."""
        if self.process is not None and self.process.poll() is None:
            self.resume()
            self.kill()
        if self.process is not None and self.process.stdout is not None:
            self.process.stdout.close()


class Cluster:
    """Nodes that share a database, by name."""

    def __init__(self, folder: Path, database: str) -> None:
        self.folder, self.database = folder, database
        self.nodes: dict[str, Node] = {}

    def add(
        self,
        name: str,
        role: str,
        *options: str,
        prefix: Sequence[str] = (),
        database: str | None = None,
    ) -> Node:
        """Start a node; ``database`` is the address by which it reaches the database."""
        command = [
            *prefix,
            *(sys.executable, "-m", "clearwatt", "serve", "--role", role, "--node", name),
            *("--data-dir", str(self.folder / name), "--database", database or self.database),
            *("--port", "0", "--workers", "1", "--prior-days", "0", *options),
        ]
        if name in self.nodes:
            self.nodes[name].close()
        node = self.nodes[name] = Node(name, command, self.folder / f"{name}.log")
        node.start()
        return node

    def web(self, name: str, *options: str) -> str:
        """Start a web node; its address."""
        url = self.add(name, "web", *options).url
        assert url is not None
        return url


@contextmanager
def cluster(folder: Path, database: str) -> Iterator[Cluster]:
    """A cluster without nodes; all are gone with the block, whatever happens."""
    found = Cluster(folder, database)
    try:
        yield found
    finally:
        for node in found.nodes.values():
            node.close()
