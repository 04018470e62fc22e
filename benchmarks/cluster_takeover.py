"""How long a zone is not learned after its node is gone: from the kill to the zone's next commit.

    python benchmarks/cluster_takeover.py                    # 30 zones, ten kills: a quarter hour
    python benchmarks/cluster_takeover.py --kills 3 --zones 6
    python benchmarks/cluster_takeover.py --how stop         # SIGSTOP: a node that hangs
    python benchmarks/cluster_takeover.py --json

A private PostgreSQL, a web node and three learner nodes with the default forecaster. A row of
readings of all zones is sent every second. All processes of a learner are killed at once, in turn;
the clock runs for each zone that it held until another node commits what it has learned of it. Then
the node comes back, and the zones are shared anew.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg
from rich.console import Console
from rich.table import Table

from clearwatt.service.client import Client
from load.callers import post
from load.figures import print_progress
from load.nodes import Node, nodes, start_node, wait_for_shares
from load.processes import family
from load.region import ROWS, Region, prepare, row_batches
from load.server import postgres_server

GOAL = 30.0
"""Seconds within which a zone is taken over."""
LEARNERS, METERS, DAYS = 3, 2, 60
HISTORY = 2 * ROWS
PAUSE, POLL = 1.0, 0.1
"""Seconds between two rows of readings, and between two looks at the commits."""
LONGEST = 300.0
"""Seconds after which a zone counts as lost."""


def measure(*, zones: int, kills: int, how: str) -> list[float]:
    """Seconds without learning, of each zone of each node that is killed."""
    region = Region(zones, METERS, history=HISTORY, days=DAYS)
    found: list[float] = []
    with (
        postgres_server() as (database, _),
        TemporaryDirectory(prefix="cw-takeover-") as folder,
        nodes(Path(folder), database, learners=LEARNERS) as running,
    ):
        url = running[-1].url
        prepare(url, region)
        with _steady_readings(url, region):
            for turn in range(kills):
                wait_for_shares(url, LEARNERS)
                place = turn % LEARNERS
                found += _take_down(running[place], url, database, how)
                print_progress(f"{turn + 1} of {kills}: slowest so far {max(found):.1f} s")
                running[place] = start_node(Path(folder), database, running[place].name, "learner")
    return found


def _take_down(node: Node, url: str, database: str, how: str) -> list[float]:
    """Kill a node or let it hang; seconds until the next commit of each of its zones."""
    with Client(url) as client:
        (held,) = [each.zones for each in client.cluster().nodes if each.name == node.name]
    processes = family(node.process.pid)
    _signal(processes, signal.SIGKILL if how == "kill" else signal.SIGSTOP)
    began = time.perf_counter()
    try:
        return _wait_for_commits(database, set(held), began)
    finally:
        _signal(processes, signal.SIGKILL)
        node.process.wait()


def _signal(processes: list[int], number: signal.Signals) -> None:
    """Send a signal to processes, children first; some may have ended with their parents."""
    for process in reversed(processes):
        with suppress(ProcessLookupError):
            os.kill(process, number)


def _wait_for_commits(database: str, zones: set[str], began: float) -> list[float]:
    """Seconds until the position of each zone grows."""
    delays = []
    with psycopg.connect(database, autocommit=True) as connection:

        def positions() -> dict[str, int]:
            return dict(connection.execute("SELECT zone, position FROM statuses").fetchall())

        before = positions()
        while zones:
            if time.perf_counter() - began > LONGEST:
                raise RuntimeError(f"not taken over within {LONGEST:g} s: {sorted(zones)}")
            time.sleep(POLL)
            now = positions()
            grown = {zone for zone in zones if now[zone] > before[zone]}
            delays += [time.perf_counter() - began] * len(grown)
            zones = zones - grown
    return delays


@contextmanager
def _steady_readings(url: str, region: Region) -> Iterator[None]:
    """A row of readings every second, as long as the block lasts."""
    ended = threading.Event()

    def send() -> None:
        for row in count(region.history):
            bodies = list(row_batches(region, row, 1, size=1000))
            while not _is_taken(url, bodies):
                if ended.wait(PAUSE):
                    return
            if ended.wait(PAUSE):
                return

    sender = threading.Thread(target=send)
    sender.start()
    try:
        yield
    finally:
        ended.set()
        sender.join()


def _is_taken(url: str, bodies: list[bytes]) -> bool:
    """Send readings; False if the service asks to send them again, as while a zone is locked."""
    try:
        post(url, "/v1/measurements", bodies, connections=1)
    except RuntimeError as error:
        print_progress(str(error))
        return False
    return True


def main() -> None:
    options = _options()
    found = measure(zones=options.zones, kills=options.kills, how=options.how)
    median, worst, load = statistics.median(found), max(found), os.getloadavg()[1]
    if options.json:
        facts = {"zones": options.zones, "kills": options.kills, "how": options.how}
        print(json.dumps({**facts, "median": median, "worst": worst, "goal": GOAL, "load": load}))
        return
    title = f"{len(found)} zones taken over; load average {load:.1f}"
    table = Table("from the kill to the next commit", "seconds", "goal", title=title)
    table.add_row("median", f"{median:.1f}", "")
    reached = f"{GOAL:g} {'reached' if worst <= GOAL else 'MISSED'}"
    table.add_row("worst", f"{worst:.1f}", reached)
    Console().print(table)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--zones", type=int, default=30)
    parser.add_argument("--kills", type=int, default=10, help="nodes to take down, one by one")
    parser.add_argument("--how", choices=["kill", "stop"], default="kill")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    main()
