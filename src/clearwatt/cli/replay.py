"""``clearwatt replay``: send a data set to a running service as if it were live."""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Iterator
from datetime import timedelta
from itertools import chain
from typing import TYPE_CHECKING

from rich.console import Console

from clearwatt.cli.options import Commands, add_json_option, add_list_option
from clearwatt.cli.printing import (
    facts_table,
    print_json,
    print_tables,
    progress,
)
from clearwatt.cli.service import ADDRESS, add_token_option, require_service, token_of

if TYPE_CHECKING:
    from clearwatt.data import Dataset
    from clearwatt.errors import ClearwattError
    from clearwatt.service.client.replay import Plan, ReplayProgress

PATIENCE = 300.0
LINE_INTERVAL = 10.0
"""Minimum seconds between two lines of progress when stderr is not a terminal."""


def register(commands: Commands) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "replay", help="send a data set to a running service, as if live", allow_abbrev=False
    )
    parser.add_argument(
        "path", metavar="PATH", help="data-set folder, name in the catalogue, or 'simulated'"
    )
    parser.add_argument(
        "--to", default=ADDRESS, metavar="URL", help=f"address of the service (default {ADDRESS})"
    )
    add_token_option(parser)
    parser.add_argument(
        "--speed",
        type=_parse_speed,
        default=math.inf,
        metavar="N",
        help="multiple of real time, or 'max' (default)",
    )
    parser.add_argument("--start", metavar="TIME", help="first time to send")
    parser.add_argument("--end", metavar="TIME", help="time to stop before")
    parser.add_argument("--entities", nargs="+", metavar="ENTITY", help="send only these")
    parser.add_argument(
        "--no-neighbours",
        action="store_true",
        help="send each zone its own weather only, not that of the zones nearest to it, too",
    )
    parser.add_argument(
        "--warmup",
        type=int,
        metavar="N",
        help="steps sent as history for the warm-up (default: the paper's share)",
    )
    add_list_option(
        parser,
        "--set",
        "KEY=VALUE",
        "settings of the zones, such as novelty_capacity=500",
        parse=_parse_setting,
    )
    parser.add_argument(
        "--shuffle-within",
        type=int,
        default=0,
        metavar="S",
        help="shuffle readings within windows of S seconds",
    )
    parser.add_argument(
        "--duplicate-share",
        type=float,
        default=0.0,
        metavar="X",
        help="share of readings to send twice",
    )
    parser.add_argument(
        "--patience",
        type=float,
        default=PATIENCE,
        metavar="S",
        help=f"seconds to retry while the service does not answer (default {PATIENCE:.0f})",
    )
    parser.add_argument(
        "--report",
        action="store_true",
        help="wait until all of it is learned, then print the live errors",
    )
    add_json_option(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Run the replay and print the counts of readings sent."""
    require_service()
    from clearwatt.cli.live_report import live_facts, live_table, wait_until_learned
    from clearwatt.service.client import Client
    from clearwatt.service.client.replay import Replay

    plan = _plan(options)
    dataset = _dataset(options)
    with Client(
        options.to, token_of(options), patience=options.patience, on_retry=_RetryNotice()
    ) as client:
        last = _show(Replay(client, dataset, plan).run())
        entities = wait_until_learned(client, dataset) if options.report else []
    facts = {
        "sent": last.sent,
        "new": last.new,
        "duplicates": last.duplicates,
        "corrections": last.corrections,
        "seconds": round(last.elapsed, 1),
    }
    if options.json:
        live = {"live": [live_facts(each) for each in entities]} if options.report else {}
        print_json({"data": dataset.name, "to": client.url, **facts, **live})
    else:
        tables = [facts_table(f"{dataset.name} played to {client.url}", facts)]
        print_tables([*tables, live_table(entities)] if options.report else tables)


def _plan(options: argparse.Namespace) -> Plan:
    from clearwatt.service.client.deliveries import DeliveryFaults
    from clearwatt.service.client.replay import Plan
    from clearwatt.service.settings import ZoneSettings

    settings = dict(options.set)
    ZoneSettings.read(settings)
    return Plan(
        speed=options.speed,
        warmup=options.warmup,
        disorder=DeliveryFaults(options.shuffle_within, options.duplicate_share),
        settings=settings,
    )


def _dataset(options: argparse.Namespace) -> Dataset:
    from clearwatt.data import load_dataset
    from clearwatt.data.neighbours import with_neighbours
    from clearwatt.service.settings import ZoneSettings

    with progress(f"loading {options.path}"):
        dataset = load_dataset(options.path)
    adaptive = ZoneSettings.read(dict(options.set)).forecaster == "adaptive"
    if adaptive and not options.no_neighbours:
        dataset = with_neighbours(dataset)
    if options.entities:
        dataset = dataset.select(options.entities)
    if options.start or options.end:
        dataset = dataset.slice(options.start, options.end)
    return dataset


def _show(steps: Iterator[ReplayProgress]) -> ReplayProgress:
    """Run a replay and show its progress; returns the last."""
    console, written_at = Console(stderr=True), -math.inf
    with console.status("asking the service for its newest readings") as status:
        last = first = next(steps)
        for last in chain([first], steps):
            if console.is_terminal:
                status.update(_progress_line(last))
            elif time.monotonic() - written_at > LINE_INTERVAL:
                written_at = time.monotonic()
                _write(_progress_line(last))
    return last


def _progress_line(now: ReplayProgress) -> str:
    if now.stage == "warm-up":
        return f"warming up; {timedelta(seconds=round(now.elapsed))} since the start"
    from clearwatt.service.times import text

    share = (now.time - now.start) / max(1, now.end - now.start)
    return f"{now.stage}: {text(now.time)} ({share:.0%}), {now.sent} readings at {now.rate:,.0f}/s"


class _RetryNotice:
    """Writes why a call is retried, at most once per LINE_INTERVAL."""

    def __init__(self) -> None:
        self._written_at = -math.inf

    def __call__(self, error: ClearwattError, pause: float) -> None:
        if time.monotonic() - self._written_at > LINE_INTERVAL:
            self._written_at = time.monotonic()
            _write(f"{error}; trying again")


def _write(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def _parse_speed(text: str) -> float:
    try:
        speed = math.inf if text == "max" else float(text)
    except ValueError:
        speed = math.nan
    if not speed > 0:
        raise argparse.ArgumentTypeError(f"{text!r} is neither a number above 0 nor 'max'")
    return speed


def _parse_setting(text: str) -> tuple[str, object]:
    """Parse KEY=VALUE; a value that is not JSON is text."""
    name, mark, value = text.partition("=")
    if not (name and mark):
        raise argparse.ArgumentTypeError(f"{text!r} is not KEY=VALUE, as novelty_capacity=500 is")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value
