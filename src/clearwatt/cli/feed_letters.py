"""``clearwatt feed dead-letters``: list what a feed could not use, send it again, or delete it."""

from __future__ import annotations

import argparse
from contextlib import closing
from typing import TYPE_CHECKING

from clearwatt.cli.feed_state import SPOOL, add_state_options, is_locked, state_folder
from clearwatt.cli.options import Commands, add_json_option
from clearwatt.cli.printing import print_json, print_lines, print_tables, rows_table

if TYPE_CHECKING:
    from pathlib import Path

    from clearwatt.feeds.dead_letters import DeadLetter, DeadLetterFile

_PAYLOAD_SHOWN = 120


def register(actions: Commands) -> None:
    """Add the action to the parser of ``clearwatt feed``."""
    parser = actions.add_parser(
        "dead-letters", help="readings that a feed could not use", allow_abbrev=False
    )
    add_state_options(parser)
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument(
        "--send", nargs="*", metavar="ID", help="give these back to the feed (default: all)"
    )
    mode.add_argument("--delete", nargs="+", metavar="ID", help="delete these")
    add_json_option(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """List the letters, or move them."""
    from clearwatt.feeds.dead_letters import DeadLetterFile

    folder = state_folder(options)
    letters = DeadLetterFile(folder)
    if options.send is not None:
        _send(letters, folder, options)
    elif options.delete:
        with letters.take(options.delete) as taken:
            pass
        _report(options, {"deleted": len(taken)}, f"{len(taken)} deleted")
    elif options.json:
        print_json([letter.to_dict() for letter in letters.read()])
    else:
        _show(letters.read(), letters.path)


def _send(letters: DeadLetterFile, folder: Path, options: argparse.Namespace) -> None:
    """Put letters into the spool; the feed sends them, and those still unusable come back."""
    from clearwatt.feeds.spool import Spool

    with letters.take(options.send or None) as taken:
        if taken:
            with closing(Spool(folder / SPOOL)) as spool:
                spool.requeue(letter.message for letter in taken)
    runs = is_locked(folder)
    then = "the feed sends them now" if runs else "start the feed, which sends them"
    _report(
        options,
        {"queued": len(taken), "feed_runs": runs},
        f"{len(taken)} queued; {then}" if taken else f"there are no dead letters in {folder}",
    )


def _report(options: argparse.Namespace, facts: dict[str, object], line: str) -> None:
    if options.json:
        print_json(facts)
    else:
        print_lines([line])


def _show(letters: list[DeadLetter], path: Path) -> None:
    if not letters:
        print_lines([f"there are no dead letters in {path.parent}"])
        return
    rows = [
        (each.id, found["time"], found["topic"], _shown(found), each.reason)
        for each in letters
        for found in [each.to_dict()]
    ]
    print_tables([rows_table(("id", "time", "topic", "payload", "reason"), rows)])
    print_lines([f"they are in {path}; correct there what is wrong with a payload"])


def _shown(letter: dict[str, str]) -> str:
    text = letter.get("payload", "(not text)")
    return text if len(text) <= _PAYLOAD_SHOWN else text[:_PAYLOAD_SHOWN] + "…"
