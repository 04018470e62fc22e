"""Readings per second of the stores, with two million stored and every batch synced to disk.

    python benchmarks/store.py                                    # SQLite, a minute
    python benchmarks/store.py --database postgresql://…          # PostgreSQL; an empty database
    python benchmarks/store.py --folder DIR --stored 200000 --json
    python benchmarks/store.py --callers 64 [--database …]        # many callers at once, a minute

Batches have 1,000 readings: 1,000 entities at one time, like live readings, and 1,000 times of one
entity, like history. ``disk`` is how often per second the machine can append a page to a file and
sync it; no store can commit more often.

With ``--callers`` so many threads store small batches of their own zones at the same time: each
batch in its own transaction, and as the service does it, sharing transactions. Both take turns, and
the median of three turns counts.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from rich.console import Console
from rich.table import Table

from clearwatt.service.records import READING, Readings, RegisteredEntity, Zone
from clearwatt.service.store import Store, open_store
from clearwatt.service.store.ingest import Delivery, EntityCache, add

SIZE = 1000
STEP = 900
START = 1_700_000_100 // STEP * STEP
GOALS = {"sqlite": 30_000, "postgresql": 15_000}
METERS = 100
"""Entities of the zone of a caller."""
TURNS = 3


def main() -> None:
    options = _options()
    with TemporaryDirectory(dir=options.folder) as folder:
        disk = commits_per_second(Path(folder) / "pages")
        store = open_store(options.database or Path(folder) / "clearwatt.db")
        kind = "postgresql" if options.database else "sqlite"
        try:
            if options.callers:
                rates = measure_callers(store, options.callers, seconds=options.seconds)
                _report_callers(kind, rates, disk=disk, options=options)
            else:
                _report(kind, measure(store, options.stored), disk=disk, as_json=options.json)
        finally:
            store.close()


def measure(store: Store, stored: int) -> dict[str, tuple[float, float]]:
    """Readings per second, and per CPU second of this process, for each kind of batch."""
    store.add_zone(Zone("north", STEP, ("wind",)))
    names = [RegisteredEntity(f"meter {i}", "north", "consumer") for i in range(SIZE)]
    numbers = np.array([entity.number for entity in store.add_entities(names)])
    rows = max(stored // SIZE, SIZE)
    history = (batch(n, first + np.arange(SIZE)) for n in numbers for first in range(0, rows, SIZE))
    later = 2 * rows + np.arange(SIZE)
    live = [batch(numbers, rows + step) for step in range(200)]
    return {
        "filling": rate(store, history),
        "1,000 entities × 1 time": rate(store, live),
        "1 entity × 1,000 times": rate(store, (batch(n, later) for n in numbers[:200])),
        "the same again": rate(store, live),
    }


def batch(numbers: np.ndarray, steps: np.ndarray | int) -> Readings:
    readings = np.empty(SIZE, dtype=READING)
    readings["entity"], readings["time"] = numbers, START + STEP * steps
    readings["value"] = np.random.default_rng(0).normal(size=SIZE)
    return readings


def rate(store: Store, batches: Iterable[Readings]) -> tuple[float, float]:
    clock, own, count = time.perf_counter(), time.process_time(), 0
    for readings in batches:
        store.add_readings(readings, at=1.0)
        count += len(readings)
    return count / (time.perf_counter() - clock), count / (time.process_time() - own)


def measure_callers(
    store: Store, callers: int, *, seconds: float
) -> dict[int, dict[str, tuple[float, float]]]:
    """Median requests/s and their 99th percentile in ms, by readings of a request and way."""
    zones = [_register(store, f"zone {number}") for number in range(callers)]
    cache = EntityCache()

    def one_by_one(readings: Readings) -> None:
        with store.write_session() as session:
            _, grown = add(session, [Delivery(readings, 1.0)], directory=cache)
        cache.extents.update(grown)

    def together(readings: Readings) -> None:
        store.add_readings(readings, at=1.0)

    ways = {"one by one": one_by_one, "together": together}
    found: dict[int, dict[str, tuple[float, float]]] = {}
    turn = 0
    for size in (1, 10, METERS):
        runs = defaultdict(list)
        for _ in range(TURNS):
            for name, send in ways.items():
                runs[name].append(_turn(send, zones, size=size, turn=turn, seconds=seconds))
                turn += 1
        found[size] = {
            name: (statistics.median(r for r, _ in each), statistics.median(p for _, p in each))
            for name, each in runs.items()
        }
    return found


def _turn(
    send: Callable[[Readings], None],
    zones: list[np.ndarray],
    *,
    size: int,
    turn: int,
    seconds: float,
) -> tuple[float, float]:
    """Requests per second of all callers together, and the 99th percentile of one in ms."""
    taken: list[float] = []
    end = time.perf_counter() + seconds

    def call(numbers: np.ndarray) -> None:
        row = turn * 100_000
        while time.perf_counter() < end:
            readings = np.empty(size, dtype=READING)
            readings["entity"], readings["time"] = numbers[:size], START + STEP * row
            readings["value"] = row
            row, began = row + 1, time.perf_counter()
            send(readings)
            taken.append(time.perf_counter() - began)

    threads = [threading.Thread(target=call, args=(numbers,)) for numbers in zones]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return len(taken) / (time.perf_counter() - began), 1000 * float(np.percentile(taken, 99))


def _register(store: Store, zone: str) -> np.ndarray:
    store.add_zone(Zone(zone, STEP, ("wind",)))
    names = [RegisteredEntity(f"{zone} {i}", zone, "consumer") for i in range(METERS)]
    return np.array([entity.number for entity in store.add_entities(names)])


def commits_per_second(path: Path) -> float:
    page, count = bytes(4096), 200
    with path.open("wb") as file:
        clock = time.perf_counter()
        for _ in range(count):
            file.write(page)
            file.flush()
            os.fsync(file.fileno())
    return count / (time.perf_counter() - clock)


def _lines(kind: str, found: dict[str, tuple[float, float]]) -> Iterator[tuple[str, ...]]:
    for name, (clock, own) in found.items():
        goal = GOALS[kind] if "×" in name else None
        reached = "" if goal is None else f"{goal:,} {'reached' if clock >= goal else 'MISSED'}"
        yield name, f"{clock:,.0f}", f"{own:,.0f}", reached


def _report(
    kind: str, found: dict[str, tuple[float, float]], *, disk: float, as_json: bool
) -> None:
    load = os.getloadavg()[0]
    if as_json:
        rates = {name: {"per_second": c, "per_cpu_second": o} for name, (c, o) in found.items()}
        print(json.dumps({"store": kind, "rates": rates, "disk": disk, "load": load}))
        return
    title = f"{kind}: {disk:,.0f} synced pages/s, load average {load:.1f}"
    table = Table("batches", "readings/s", "per CPU s", "goal", title=title)
    for line in _lines(kind, found):
        table.add_row(*line)
    Console().print(table)


def _report_callers(
    kind: str,
    found: dict[int, dict[str, tuple[float, float]]],
    *,
    disk: float,
    options: argparse.Namespace,
) -> None:
    load = os.getloadavg()[0]
    if options.json:
        rates = {
            size: {way: {"requests_per_second": r, "p99_ms": p} for way, (r, p) in ways.items()}
            for size, ways in found.items()
        }
        result = {"store": kind, "callers": options.callers, "rates": rates}
        print(json.dumps({**result, "disk": disk, "load": load}))
        return
    title = (
        f"{kind}, {options.callers} callers: {disk:,.0f} synced pages/s, load average {load:.1f}"
    )
    columns = ("readings per request", "transactions", "requests/s", "readings/s", "p99, ms")
    table = Table(*columns, title=title)
    for size, ways in found.items():
        for way, (rate, slow) in ways.items():
            table.add_row(str(size), way, f"{rate:,.0f}", f"{size * rate:,.0f}", f"{slow:,.0f}")
    Console().print(table)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Readings per second of the stores.")
    parser.add_argument("--database", help="postgresql://…, an empty database (default: SQLite)")
    parser.add_argument("--folder", type=Path, help="folder of the SQLite file")
    parser.add_argument("--stored", type=int, default=2_000_000, help="readings stored before")
    parser.add_argument("--callers", type=int, help="measure so many callers at once instead")
    parser.add_argument("--seconds", type=float, default=3.0, help="of each turn of the callers")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    main()
