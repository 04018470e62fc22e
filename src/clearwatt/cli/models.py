"""``clearwatt models``: print the model versions of a running service."""

from __future__ import annotations

import argparse

from clearwatt.cli.options import Commands, add_json_option
from clearwatt.cli.printing import print_json, print_lines, print_tables, rows_table
from clearwatt.cli.service import add_address_options, open_client, require_known


def register(commands: Commands) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "models", help="print the model versions of a running service", allow_abbrev=False
    )
    add_address_options(parser)
    parser.add_argument("--zone", metavar="NAME", help="only models of a zone")
    parser.add_argument("--entity", metavar="NAME", help="only models of an entity")
    add_json_option(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Print a table of versions, the newest first."""
    with open_client(options) as client:
        page = client.models(zone=options.zone, entity=options.entity)
        if not page.models:
            require_known(client, zone=options.zone, entity=options.entity)
    if options.json:
        print_json(page.model_dump(mode="json"))
        return
    if not page.models:
        print_lines(["there are no models yet; the first ones come with the warm-up"])
        return
    rows = [
        (
            model.id,
            model.status,
            model.time or "–",
            "–" if model.threshold is None else f"{model.threshold:.4g}",
        )
        for model in page.models
    ]
    print_tables([rows_table(("version", "status", "trained up to", "threshold"), rows)])
    if page.next_offset is not None:
        print_lines([f"these are the newest {len(rows)}; --zone or --entity narrows the list"])
