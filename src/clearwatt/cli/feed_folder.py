"""``clearwatt feed folder``: files that are dropped into a folder go to a service, each once."""

from __future__ import annotations

import argparse
import math
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from clearwatt.cli.feed_output import FeedOutput
from clearwatt.cli.feed_state import lock_state
from clearwatt.cli.options import Commands, add_json_option, add_list_option
from clearwatt.cli.service import add_address_options, require_service, token_of
from clearwatt.errors import DataError

if TYPE_CHECKING:
    from clearwatt.feeds.folder import FileOutcome

SETTLE = 10.0
_LEDGER = "ledger.jsonl"


def register(actions: Commands) -> None:
    """Add the action to the parser of ``clearwatt feed``."""
    parser = actions.add_parser(
        "folder", help="send files that are dropped into a folder", allow_abbrev=False
    )
    parser.add_argument("folder", type=Path, metavar="DIR", help="that files are dropped into")
    parser.add_argument(
        "--recipe",
        type=Path,
        required=True,
        metavar="FILE",
        help="how to read them: 'clearwatt data import … --save-recipe FILE' writes it",
    )
    add_list_option(parser, "--match", "PATTERN", "names of files (default: all that can be read)")
    parser.add_argument(
        "--settle",
        type=_parse_seconds,
        default=SETTLE,
        metavar="S",
        help=f"seconds without change after which a file is complete (default {SETTLE:.0f})",
    )
    parser.add_argument("--once", action="store_true", help="take what is there, then stop")
    parser.add_argument(
        "--again",
        action="store_true",
        help="send the files that are there now even if the service has had their contents",
    )
    add_address_options(parser)
    add_json_option(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Take files until SIGTERM or Ctrl-C, or once."""
    require_service()
    from clearwatt.feeds.delivery import Delivery
    from clearwatt.feeds.drop_folder import FAILED, PATTERNS, STATE, DropFolder
    from clearwatt.feeds.folder import FolderFeed
    from clearwatt.feeds.ledger import Ledger
    from clearwatt.feeds.stopping import StopRequest, stop_on_signals
    from clearwatt.imports import read_recipe

    read_recipe(options.recipe)
    patterns = options.match or PATTERNS
    folder = DropFolder(options.folder, patterns, settle=options.settle)
    stop, output = StopRequest(), FeedOutput(as_json=options.json)
    failed = taken = 0
    state = options.folder / STATE
    with (
        lock_state(state),
        closing(
            Delivery(options.url, token_of(options), stop=stop, on_retry=output.on_retry)
        ) as delivery,
        stop_on_signals(stop),
    ):
        feed = FolderFeed(
            folder,
            Ledger(state / _LEDGER),
            recipe=lambda: read_recipe(options.recipe),
            delivery=delivery,
            stop=stop,
            settle=options.settle,
            again=options.again,
        )
        with output.status(f"watching {options.folder}") as status:
            for outcome in feed.run(once=options.once):
                if outcome is None:
                    continue
                taken, failed = taken + 1, failed + outcome.failed
                status.update(f"watching {options.folder}: {taken} files taken, {failed} failed")
                output.show(_line(outcome), _facts(outcome))
    if options.once and failed:
        raise DataError(
            f"{failed} of {taken} files failed; read the reports in {options.folder / FAILED}"
        )


def _line(outcome: FileOutcome) -> str:
    result = outcome.result
    if outcome.known:
        return f"{outcome.file}: the service has this content already; now in {outcome.moved_to}"
    if outcome.failed:
        now = f"now in {outcome.moved_to}" if outcome.moved_to else "left where it is; trying again"
        return f"{outcome.file}: failed: {result.problems[0]}; {now}"
    known = result.duplicates + result.corrections
    return (
        f"{outcome.file}: {result.new:,} new readings, {known:,} known before; now in "
        f"{outcome.moved_to}"
    )


def _facts(outcome: FileOutcome) -> dict[str, object]:
    state = "known" if outcome.known else "failed" if outcome.failed else "done"
    report = None if outcome.moved_to is None else f"{outcome.moved_to}.report.txt"
    moved = {"moved_to": outcome.moved_to, "report": report}
    return {"file": outcome.file, "state": state, **moved, **asdict(outcome.result)}


def _parse_seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 <= seconds < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds, 0 or more")
    return seconds
