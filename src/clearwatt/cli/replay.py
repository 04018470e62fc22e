"""``clearwatt replay``: send a data set to a running service as if it were live."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from clearwatt.cli.options import Commands, add_json_option, add_list_option
from clearwatt.cli.printing import (
    facts_table,
    print_json,
    print_tables,
    progress,
)
from clearwatt.cli.replay_progress import ReplayBars, RetryNotice, replay_bars
from clearwatt.cli.service import ADDRESS, add_token_option, require_service, token_of
from clearwatt.errors import ClearwattError, ConfigurationError, DataError

if TYPE_CHECKING:
    from clearwatt.data import Dataset
    from clearwatt.service.client import Client
    from clearwatt.service.client.replay import Plan, ReplayProgress

PATIENCE = 300.0


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
        help="seconds to retry while the service does not answer, and to wait while its learning "
        f"fails (default {PATIENCE:.0f})",
    )
    parser.add_argument(
        "--no-wait",
        action="store_true",
        help="end when all is sent, not when all is learned",
    )
    parser.add_argument(
        "--report", action="store_true", help="print the live errors when all is learned"
    )
    add_json_option(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Run the replay, wait until the service has learned it, and print the counts."""
    require_service()
    from clearwatt.cli.live_report import live_facts, live_table
    from clearwatt.service.client import Client

    if options.report and options.no_wait:
        raise ConfigurationError("--report waits for the learner; leave out --no-wait")
    plan, dataset = _plan(options), _dataset(options)
    with Client(
        options.to, token_of(options), patience=options.patience, on_retry=RetryNotice()
    ) as client:
        with replay_bars() as bars:
            last = _send(client, dataset, plan, bars)
            trouble = None if options.no_wait else _learn(client, dataset, bars, options.patience)
        reported = dataset.names if options.report and trouble is None else ()
        entities = [client.entity(name) for name in reported]
    facts = {
        "sent": last.sent,
        "new": last.new,
        "duplicates": last.duplicates,
        "corrections": last.corrections,
        "seconds": round(last.elapsed, 1),
        "learned": _verdict(options, trouble),
    }
    if options.json:
        live = {"live": [live_facts(each) for each in entities]} if options.report else {}
        print_json({"data": dataset.name, "to": client.url, **facts, **live})
    else:
        tables = [facts_table(f"{dataset.name} played to {client.url}", facts)]
        print_tables([*tables, live_table(entities)] if options.report else tables)
    if trouble is not None:
        raise DataError(
            f"all was sent, but not all is learned: {trouble} (the service goes on by itself; run "
            "the command again to wait for it)"
        )


def _send(client: Client, dataset: Dataset, plan: Plan, bars: ReplayBars) -> ReplayProgress:
    """Send everything and show the progress of both sides; returns the last."""
    from clearwatt.service.client.learner_progress import learner_progress
    from clearwatt.service.client.replay import Replay

    steps: Iterator[ReplayProgress] = Replay(client, dataset, plan).run()
    last = next(steps)
    bars.show_sent(last)
    for last in steps:
        bars.show_sent(last)
        if bars.due:
            bars.show_learned(learner_progress(client, dataset.zones))
    return last


def _learn(client: Client, dataset: Dataset, bars: ReplayBars, patience: float) -> str | None:
    """Wait until all is learned; returns why it is not, if so."""
    from clearwatt.service.client.learner_progress import wait_until_learned

    try:
        for now in wait_until_learned(client, dataset.zones, patience=patience):
            bars.show_learned(now)
    except ClearwattError as error:
        return str(error)
    return None


def _verdict(options: argparse.Namespace, trouble: str | None) -> bool | None:
    """Whether all is learned; None: the command did not wait for it."""
    return None if options.no_wait else trouble is None


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
