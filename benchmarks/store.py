"""Readings per second of the stores, with two million stored and every batch synced to disk.

    python benchmarks/store.py                                    # SQLite, a minute
    python benchmarks/store.py --database postgresql://…          # PostgreSQL; an empty database
    python benchmarks/store.py --folder DIR --stored 200000 --json

Batches have 1,000 readings: 1,000 entities at one time, like live readings, and 1,000 times of one
entity, like history. ``disk`` is how often per second the machine can append a page to a file and
sync it; no store can commit more often.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from rich.console import Console
from rich.table import Table

from clearwatt.service.records import READING, Readings, RegisteredEntity, Zone
from clearwatt.service.store import Store, open_store

SIZE = 1000
STEP = 900
START = 1_700_000_100 // STEP * STEP
GOALS = {"sqlite": 30_000, "postgresql": 15_000}


def main() -> None:
    options = _options()
    with TemporaryDirectory(dir=options.folder) as folder:
        disk = commits_per_second(Path(folder) / "pages")
        store = open_store(options.database or Path(folder) / "clearwatt.db")
        try:
            found = measure(store, options.stored)
        finally:
            store.close()
    kind = "postgresql" if options.database else "sqlite"
    _report(kind, found, disk=disk, as_json=options.json)


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


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Readings per second of the stores.")
    parser.add_argument("--database", help="postgresql://…, an empty database (default: SQLite)")
    parser.add_argument("--folder", type=Path, help="folder of the SQLite file")
    parser.add_argument("--stored", type=int, default=2_000_000, help="readings stored before")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    main()
