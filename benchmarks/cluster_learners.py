"""Two learner nodes against one: seconds to learn the same backlog of many busy zones.

    python benchmarks/cluster_learners.py                       # 100 zones, an hour
    python benchmarks/cluster_learners.py --zones 8 --hours 6 --repeats 1
    python benchmarks/cluster_learners.py --json

A private PostgreSQL, a web node, and one or two learner nodes, each bound to a core of its own with
one thread per process, as if it were a machine. The learners are paused while the backlog is sent;
the clock runs from when they go on until every zone has learned everything. One node and two take
turns, and the medians are compared.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg
from rich.console import Console
from rich.table import Table

from clearwatt.service.client import Client
from load.callers import post
from load.figures import print_progress
from load.nodes import announced_url, node_command
from load.region import DAY, HOUR, ROWS, STEP, Region, prepare, row_batches, wait_for_zones
from load.server import UNLIMITED, postgres

GOAL = 1.7
"""How many times as fast two nodes are."""
HISTORY = 2 * ROWS
METERS = 2
SETTINGS = {
    "forecaster": "clear",
    "novelty_capacity": 24,
    "alpha": 1.05,
    "epochs": 20,
    "warmup_epochs": 5,
    "width": 32,
    "layers": 2,
    "gate_margin": None,
}
"""Frequent updates, so that the zones are busy."""


class NodeProcess:
    """A node of a cluster in its own session; ``core`` is where all of its processes run."""

    def __init__(self, role: str, name: str, *, folder: Path, database: str, core: int) -> None:
        command = node_command(folder, database, name, role)
        options = ["--workers", "1", "--prior-days", "0", *UNLIMITED]
        cores = sorted(os.sched_getaffinity(0))
        self._process = subprocess.Popen(
            ["taskset", "-c", str(cores[core % len(cores)]), *command, *options],
            env={**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"},
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        url = announced_url(self._process)
        if url is None:
            raise RuntimeError(f"{name} did not start")
        self.url = url

    def pause(self) -> None:
        """Stop all of its processes for a while."""
        os.killpg(self._process.pid, signal.SIGSTOP)

    def resume(self) -> None:
        """Let them go on."""
        os.killpg(self._process.pid, signal.SIGCONT)

    def stop(self) -> None:
        """End it."""
        self.resume()
        self._process.terminate()
        self._process.wait(timeout=120)
        if self._process.stdout is not None:
            self._process.stdout.close()


def learn_backlog(database: str, region: Region, *, learners: int, hours: int) -> float:
    """Seconds in which so many learner nodes learn the backlog of a region."""
    with TemporaryDirectory(prefix="cw-learners-") as folder, ExitStack() as stack:

        def start(role: str, name: str, core: int) -> NodeProcess:
            node = NodeProcess(role, name, folder=Path(folder), database=database, core=core)
            stack.callback(node.stop)
            return node

        web = start("web", "web-1", learners)
        nodes = [start("learner", f"learner-{core}", core) for core in range(learners)]
        prepare(web.url, region)
        for node in nodes:
            node.pause()
        bodies = row_batches(region, region.history, hours * HOUR // STEP, size=1000)
        post(web.url, "/v1/measurements", bodies, connections=2)
        began = time.perf_counter()
        for node in nodes:
            node.resume()
        with Client(web.url) as client:
            wait_for_zones(client, region, lambda zone: True)
        return time.perf_counter() - began


def measure(*, zones: int, hours: int, repeats: int) -> dict[int, list[float]]:
    """Seconds of each run, by the number of learner nodes."""
    days = HISTORY // ROWS + hours * HOUR // DAY + 2
    region = Region(zones, METERS, history=HISTORY, days=days, settings=SETTINGS)
    found: dict[int, list[float]] = {1: [], 2: []}
    with postgres() as server:
        for turn in range(repeats):
            for learners, seconds in found.items():
                with _schema(server, f"run_{turn}_{learners}") as database:
                    seconds.append(learn_backlog(database, region, learners=learners, hours=hours))
                print_progress(f"{learners} learner nodes: {seconds[-1]:.1f} s")
    return found


def speedup(found: dict[int, Sequence[float]]) -> float:
    """How many times as fast two nodes are as one, by medians."""
    return statistics.median(found[1]) / statistics.median(found[2])


@contextmanager
def _schema(server: str, name: str) -> Iterator[str]:
    """The address of an empty schema, which is deleted after the block."""
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {name}".encode())
        yield f"{server}&options=-csearch_path%3D{name}"
        connection.execute(f"DROP SCHEMA {name} CASCADE".encode())


def main() -> None:
    options = _options()
    found = measure(zones=options.zones, hours=options.hours, repeats=options.repeats)
    ratio, load = speedup({**found}), os.getloadavg()[1]
    if options.json:
        seconds = {str(learners): each for learners, each in found.items()}
        facts = {"zones": options.zones, "hours": options.hours, "seconds": seconds}
        print(json.dumps({**facts, "speedup": ratio, "goal": GOAL, "load": load}))
        return
    title = f"{options.zones} zones, backlog of {options.hours} h; load average {load:.1f}"
    table = Table("learner nodes", "median, s", "times as fast", "goal", title=title)
    table.add_row("1", f"{statistics.median(found[1]):.1f}", "1", "")
    reached = f"{GOAL} {'reached' if ratio >= GOAL else 'MISSED'}"
    table.add_row("2", f"{statistics.median(found[2]):.1f}", f"{ratio:.2f}", reached)
    Console().print(table)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--zones", type=int, default=100)
    parser.add_argument("--hours", type=int, default=48, help="of readings in the backlog")
    parser.add_argument("--repeats", type=int, default=3, help="turns of each number of nodes")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    main()
