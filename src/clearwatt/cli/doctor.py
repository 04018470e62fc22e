"""``clearwatt doctor``: find damage in a data directory, and mend what can be mended."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from clearwatt.cli.options import Commands, add_json_option
from clearwatt.cli.printing import print_json, print_lines, print_tables, progress, rows_table
from clearwatt.cli.service import (
    add_archive_option,
    add_store_options,
    archive_of,
    database_of,
    require_service,
)
from clearwatt.errors import ConfigurationError, StateError


def register(commands: Commands) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "doctor", help="find damage in the data of a service", allow_abbrev=False
    )
    add_store_options(parser)
    add_archive_option(parser)
    parser.add_argument(
        "--mend", action="store_true", help="mend what can be mended; stop the service before"
    )
    add_json_option(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Examine a data directory and print what is damaged; an error if anything stays damaged."""
    require_service()
    from clearwatt.service.doctor import examine
    from clearwatt.service.permissions import create_private_files

    database = database_of(options)
    if not options.data_dir.is_dir():
        raise ConfigurationError(
            f"{options.data_dir} does not exist; give the --data-dir of a service"
        )
    with progress(f"examining {options.data_dir}"), create_private_files():
        archive = archive_of(options)
        found = examine(options.data_dir, database, archive=archive, mend=options.mend)
    if options.json:
        print_json([asdict(damage) for damage in found])
    elif found:
        rows = [(each.what, each.reason, each.remedy, _state(each.mended)) for each in found]
        print_tables([rows_table(("what", "damage", "remedy", "state"), rows)])
    else:
        print_lines([f"nothing in {options.data_dir} is damaged"])
    left = sum(not damage.mended for damage in found)
    if left:
        raise StateError(
            f"{left} damaged; run 'clearwatt doctor --mend' with the service stopped, and restore "
            "a backup if that does not help"
        )


def _state(mended: bool) -> str:
    return "mended" if mended else "damaged"
