"""``clearwatt events``: print what happened in a running service."""

from __future__ import annotations

import argparse

from clearwatt.cli.options import Commands, add_json_option
from clearwatt.cli.printing import print_json, print_lines, print_tables, rows_table
from clearwatt.cli.service import add_address_options, open_client, require_known


def register(commands: Commands) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "events", help="print what happened in a running service", allow_abbrev=False
    )
    add_address_options(parser)
    parser.add_argument("--zone", metavar="NAME", help="only events of a zone")
    parser.add_argument("--entity", metavar="NAME", help="only events of an entity")
    parser.add_argument(
        "--kind",
        nargs="+",
        action="extend",
        default=[],
        metavar="KIND",
        help="only these kinds, such as update, quarantine or trust",
    )
    parser.add_argument(
        "--limit", type=int, default=20, metavar="N", help="the newest N, at most 1000 (default 20)"
    )
    add_json_option(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Print a table of events, the newest last."""
    with open_client(options) as client:
        page = client.events(
            zone=options.zone, entity=options.entity, kinds=options.kind, limit=options.limit
        )
        if not page.events:  # those of a deleted entity stay
            require_known(client, zone=options.zone, entity=options.entity)
    if options.json:
        print_json(page.model_dump(mode="json"))
        return
    if not page.events:
        kinds = f" of kind {' or '.join(options.kind)}" if options.kind else ""
        print_lines([f"there are no events{kinds} yet"])
        return
    rows = [
        (event.at, event.kind, event.entity or event.zone or "–", event.actor, event.message)
        for event in reversed(page.events)
    ]
    print_tables([rows_table(("at", "kind", "of", "by", "what happened"), rows)])
