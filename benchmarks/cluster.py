"""A cluster with up to a hundred thousand meters: a day of readings, learned, and all forecasts.

    python benchmarks/cluster.py                       # 10,000 and 100,000 meters; an hour
    python benchmarks/cluster.py --meters 2000         # as many as you like, in zones of 100
    python benchmarks/cluster.py --json

One web node, two learner nodes and PostgreSQL (started by ``scripts/postgres``) on this machine,
the default forecaster. A few zones are warmed up and learn for a week; the others begin with copies
of their models and states (`load/copies.py`). Then a day of quarter-hour readings is sent, row by
row, as fast as the service takes it. When all of it is judged and learned, with the trainings that
fell due, the next day is forecast for every meter with seven quantiles. Learners have a limit of
memory, beyond which zones rest on disk.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import LiteralString

import psycopg
from rich.console import Console
from rich.table import Table

from clearwatt.service.client import Client
from clearwatt.service.times import text
from load.callers import callers, connect, get_answer, post
from load.copies import copy_zones
from load.figures import print_progress
from load.nodes import Node, Usage, nodes, wait_for_shares
from load.region import DAY, ROWS, SETTLE, START, STEP, Region, prepare, row_batches
from load.server import postgres_server

METERS = 100
"""Meters of a zone."""
SOURCES = 6
"""Zones that are warmed up; the others are copies."""
HISTORY = 2
"""Days of the warm-up."""
BEHIND = 7
"""Days that the zones have learned before the measured one, so that updates fall due in it."""
BATCH = 1000
"""Readings of a request."""
TABLES = ("readings", "journal", "vintages", "signals", "folders")
"""Tables whose growth is reported."""


@dataclass(frozen=True)
class Result:
    """What a cluster of one size needed.

    Attributes:
        meters: Number of meters.
        readings: Readings of the day.
        ready: Seconds from the start of the nodes until the web node answers.
        taken: Seconds until the readings of the day were stored.
        learned: Seconds until they were judged and learned, from the same beginning.
        forecast: Seconds for the forecasts of all meters.
        by_model: Forecasts made by a model.
        processor: Processor seconds of each node and of PostgreSQL, from the first reading to the
            last forecast.
        memory: Peak memory in bytes of each, and of all at once.
        database: Bytes of the database before and after the day.
        growth: Bytes that each table has grown by in the day.
        updates: Models that were updated in the day.
        scrape: Seconds for one answer to `GET /metrics`.
        load: Load average at the end.
    """

    meters: int
    readings: int
    ready: float
    taken: float
    learned: float
    forecast: float
    by_model: int
    processor: dict[str, float]
    memory: dict[str, int]
    database: tuple[int, int]
    growth: dict[str, int]
    updates: int
    scrape: float
    load: float

    @property
    def seconds(self) -> float:
        """From the first reading to the last forecast."""
        return self.learned + self.forecast

    @property
    def processor_per_meter(self) -> float:
        """Processor seconds for a meter and a day."""
        return sum(self.processor.values()) / self.meters


def main() -> None:
    options = _options()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # its processes end with it
    results = []
    for meters in options.meters:
        result = measure(
            meters // METERS, learners=options.learners, learner_memory=options.learner_memory
        )
        results.append(result)
        if options.json:
            print(json.dumps(asdict(result)), flush=True)
        else:
            _show(result)
    if not options.json:
        _compare(results)


def measure(zones: int, *, learners: int, learner_memory: str) -> Result:
    """Run a cluster of this many zones."""
    region = _region(zones)
    limit = ("--learner-memory", learner_memory)
    with postgres_server() as (database, data), TemporaryDirectory(prefix="cw-cluster-") as folder:
        first = min(SOURCES, zones)
        _warm_up(Path(folder), database, _region(first))
        for done, _ in enumerate(
            copy_zones(database, region.names[:first], region.names[first:]), 1
        ):
            if done % 50 == 0:
                print_progress(f"{done + first} of {zones} zones copied")
        began = time.perf_counter()
        with nodes(Path(folder), database, learners=learners, options=limit) as running:
            ready = time.perf_counter() - began
            wait_for_shares(running[-1].url, learners)
            print_progress(f"{zones} zones, ready after {ready:.0f} s; sending a day of readings")
            usage = Usage(running, data)
            result = _run_day(region, running[-1], database, usage, ready)
        for log in Path(folder).glob("*.log"):
            if complaints := log.read_text():
                print(f"{log.name}:\n{complaints[:2000]}", file=sys.stderr)
    return result


def _warm_up(folder: Path, database: str, region: Region) -> None:
    """Warm zones up, let them learn for some days, and leave their checkpoints in the database."""
    print_progress(f"warming up {region.zones} zones; {BEHIND} days of readings")
    with nodes(folder, database, learners=2) as running, callers(1) as pool:
        url = running[-1].url
        pool.submit(prepare, url, region).result()
        for first, count in _days_behind(region):
            pool.submit(send_rows, url, region, first, count).result()
            _wait_until(url, region, first + count - 1 - SETTLE)


def _region(zones: int) -> Region:
    return Region(zones, METERS, history=HISTORY * ROWS, days=HISTORY + BEHIND + 3)


def _days_behind(region: Region) -> Iterator[tuple[int, int]]:
    """First row and number of rows of each day before the measured one, and of two hours more.

    A row is judged two hours after it; in a service that runs all day they are left from before.
    """
    yield from ((region.history + day * ROWS, ROWS) for day in range(BEHIND))
    yield region.history + BEHIND * ROWS, SETTLE


def _run_day(region: Region, web: Node, database: str, usage: Usage, ready: float) -> Result:
    sizes, size = _table_sizes(database), _database_size(database)
    updates, before = _updates(database), usage.seconds()
    first, began = region.history + BEHIND * ROWS + SETTLE, time.perf_counter()
    with callers(1) as pool:
        taken = pool.submit(send_rows, web.url, region, first, ROWS).result()
        print_progress(f"{taken:.0f} s until all was stored")
        _wait_until(web.url, region, first + ROWS - 1 - SETTLE)
        learned = time.perf_counter() - began
        print_progress(f"{learned:.0f} s until all was learned; forecasts of all")
        start = START + STEP * (first + ROWS)
        forecast, by_model = pool.submit(forecast_all, web.url, region, start).result()
    after, grown = usage.seconds(), _table_sizes(database)
    return Result(
        meters=region.zones * region.meters,
        readings=ROWS * region.zones * region.meters,
        ready=ready,
        taken=taken,
        learned=learned,
        forecast=forecast,
        by_model=by_model,
        processor={name: after[name] - before[name] for name in after},
        memory=usage.stop(),
        database=(size, _database_size(database)),
        growth={name: grown[name] - sizes[name] for name in sizes},
        updates=_updates(database) - updates,
        scrape=_scrape(web.url),
        load=os.getloadavg()[1],
    )


def send_rows(url: str, region: Region, first: int, count: int) -> float:
    """Send rows of all meters; the seconds until they were stored."""
    bodies = row_batches(region, first, count, size=BATCH)
    return post(url, "/v1/measurements", bodies, connections=2)


def forecast_all(url: str, region: Region, start: int) -> tuple[float, int]:
    """Request a day of every zone; the seconds, and the number of forecasts by a model."""
    times = f"start={text(start)}&end={text(start + DAY)}"

    def ask(zones: list[str]) -> int:
        found = 0
        with closing(connect(url)) as connection:
            for zone in zones:
                answer = get_answer(connection, f"/v1/forecasts?zone={zone}&{times}")
                found += sum(not each["fallback"] for each in json.loads(answer)["forecasts"])
        return found

    began = time.perf_counter()
    with ThreadPoolExecutor(2) as pool:
        by_model = sum(pool.map(ask, [region.names[::2], region.names[1::2]]))
    return time.perf_counter() - began, by_model


def _scrape(url: str) -> float:
    began = time.perf_counter()
    with closing(connect(url)) as connection:
        get_answer(connection, "/metrics")
    return time.perf_counter() - began


def _wait_until(url: str, region: Region, row: int) -> None:
    """Wait until every zone has judged a row; prints progress."""
    until, left = text(START + STEP * row), list(region.names)
    with Client(url) as client:
        while left:
            told = time.monotonic()
            while left and _has_judged(client, left[-1], until):
                left.pop()
                if time.monotonic() - told > 30:
                    break
            if left and time.monotonic() - told > 30:
                print_progress(f"{len(left)} zones left")
            time.sleep(0.5)


def _has_judged(client: Client, name: str, until: str) -> bool:
    zone = client.zone(name).model_dump()
    if zone["error"]:
        raise RuntimeError(f"{name}: {zone['error']}")
    return bool(zone["position"] == zone["journal"] and zone["until"] == until)


def _table_sizes(database: str) -> dict[str, int]:
    """Bytes of tables with their indexes and partitions."""
    parts = "SELECT sum(pg_total_relation_size(relid)) FROM pg_partition_tree(%s::regclass)"
    whole = "SELECT pg_total_relation_size(%s::regclass)"
    return {
        name: _number(database, parts, name) or _number(database, whole, name) for name in TABLES
    }


def _database_size(database: str) -> int:
    return _number(database, "SELECT pg_database_size(current_database())")


def _updates(database: str) -> int:
    return _number(database, "SELECT count(*) FROM versions")


def _number(database: str, query: LiteralString, *values: str) -> int:
    """The number that a query finds; 0 if it finds none."""
    with psycopg.connect(database) as connection:
        row = connection.execute(query, values).fetchone()
    return 0 if row is None or row[0] is None else int(row[0])


def _show(result: Result) -> None:
    table = Table(f"{result.meters:,} meters", "", title_justify="left")
    rows = {
        "readings of the day": f"{result.readings:,}",
        "start until the web node answers": f"{result.ready:.0f} s",
        "stored": f"{result.taken:.0f} s ({result.readings / result.taken:,.0f}/s)",
        "judged and learned": f"{result.learned:.0f} s",
        "models updated meanwhile": f"{result.updates:,}",
        "day-ahead forecasts of all": f"{result.forecast:.0f} s, {result.by_model:,} by models",
        "one answer to GET /metrics": f"{result.scrape:.1f} s",
        "in all": f"{result.seconds / 60:.1f} min",
        "processor time per meter": f"{1000 * result.processor_per_meter:.1f} ms",
        "load average": f"{result.load:.1f}",
        **{
            f"processor time, {name}": f"{seconds:.0f} s"
            for name, seconds in result.processor.items()
        },
        **{f"peak memory, {name}": f"{size / 1e9:.2f} GB" for name, size in result.memory.items()},
        "database before and after": " and ".join(f"{each / 1e9:.2f}" for each in result.database)
        + " GB",
        **{
            f"growth of {name}, per meter and day": f"{size / result.meters / 1000:.2f} kB"
            for name, size in result.growth.items()
        },
    }
    for name, value in rows.items():
        table.add_row(name, value)
    Console(width=100).print(table)


def _compare(results: list[Result]) -> None:
    if len(results) > 1:
        small, large = min(results, key=_meters), max(results, key=_meters)
        ratio = large.processor_per_meter / small.processor_per_meter
        print(f"processor time per meter, {large.meters:,} against {small.meters:,}: {ratio:.2f}×")


def _meters(result: Result) -> int:
    return result.meters


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--meters",
        type=int,
        nargs="+",
        default=[10_000, 100_000],
        help="sizes of the cluster (default 10000 100000)",
    )
    parser.add_argument("--learners", type=int, default=2, help="learner nodes (default 2)")
    parser.add_argument(
        "--learner-memory", default="800M", help="limit of each learner process (default 800M)"
    )
    parser.add_argument("--json", action="store_true", help="print a line of JSON for each size")
    return parser.parse_args()


if __name__ == "__main__":
    main()
