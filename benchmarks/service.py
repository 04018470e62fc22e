"""The service under load: a real `clearwatt serve`, called over HTTP from other processes.

    python benchmarks/service.py                        # all parts, half an hour
    python benchmarks/service.py --quick                # smaller parts, five minutes
    python benchmarks/service.py --only soak --soak 10  # one part; minutes under load
    python benchmarks/service.py --forecaster clear     # an instance of the paper
    python benchmarks/service.py --json

``ingest`` (SQLite) and ``postgres`` (started by ``scripts/postgres``) send readings of 1,000 meters
in batches of 1,000 while other callers request forecasts. ``soak`` compares the latency of
forecasts while models train with that at rest. ``many`` has 10,000 meters in 100 zones: a day of
their readings, and forecasts of all.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterator
from dataclasses import asdict

from rich.console import Console
from rich.table import Table

from load import ingest, many, soak
from load.figures import Part
from load.server import postgres

PARTS = ("ingest", "postgres", "soak", "many")


def measurements(options: argparse.Namespace) -> Iterator[Part]:
    quick, wanted, kind = options.quick, options.only or PARTS, options.forecaster
    seconds = 10 if quick else 30
    if "ingest" in wanted:
        yield ingest.measure(forecaster=kind, database=None, seconds=seconds)
    if "postgres" in wanted:
        with postgres() as database:
            yield ingest.measure(forecaster=kind, database=database, seconds=seconds)
    if "soak" in wanted:
        minutes = options.soak or (1 if quick else 10)
        yield soak.measure(forecaster=kind, idle=20 if quick else 120, soak=60 * minutes)
    if "many" in wanted:
        yield many.measure(
            forecaster=kind,
            zones=options.zones or (5 if quick else 100),
            meters=100,
            history=options.history,
        )


def main() -> None:
    options = _options()
    for part in measurements(options):
        if options.json:
            print(json.dumps({**asdict(part), "load": os.getloadavg()}), flush=True)
        else:
            _show(part)


def _show(part: Part) -> None:
    table = Table(
        part.name, "", "goal", title=f"load average {os.getloadavg()[1]:.1f}", title_justify="left"
    )
    for figure in part.figures:
        number = f"{figure.value:,.0f}" if abs(figure.value) >= 100 else f"{figure.value:,.3g}"
        table.add_row(figure.name, f"{number} {figure.unit}", figure.wanted)
    for name, size in part.memory.items():
        table.add_row(f"peak memory, {name}", f"{size / 1e6:,.0f} MB", "")
    Console(width=110).print(table)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=PARTS, help="only these parts")
    parser.add_argument(
        "--soak", type=float, metavar="MINUTES", help="duration of the soak (default 10)"
    )
    parser.add_argument("--zones", type=int, help="zones of 100 meters in many (default 100)")
    parser.add_argument(
        "--history", type=int, default=2, metavar="DAYS", help="history in many (default 2)"
    )
    parser.add_argument(
        "--forecaster",
        choices=("adaptive", "clear"),
        default="adaptive",
        help="what the zones forecast with (default adaptive)",
    )
    parser.add_argument("--quick", action="store_true", help="smaller parts")
    parser.add_argument("--json", action="store_true", help="print a line of JSON for each part")
    return parser.parse_args()


if __name__ == "__main__":
    main()
