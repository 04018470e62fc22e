"""``clearwatt backup`` and ``clearwatt restore``: save and restore a service's data."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from clearwatt.cli.options import Commands, add_json_option
from clearwatt.cli.printing import (
    facts_table,
    print_json,
    print_tables,
    progress,
)
from clearwatt.cli.service import (
    add_archive_option,
    add_store_options,
    archive_of,
    database_of,
    require_service,
    use_store,
)

if TYPE_CHECKING:
    from clearwatt.service.backup import Backup


def register(commands: Commands) -> None:
    """Add the commands to the parser."""
    save = commands.add_parser(
        "backup", help="save the data of a service, which may be running", allow_abbrev=False
    )
    add_store_options(save)
    save.add_argument(
        "--to", type=Path, required=True, metavar="FOLDER", help="new folder to write to"
    )
    save.set_defaults(run=back_up)
    load = commands.add_parser(
        "restore", help="restore a backup to an empty data directory", allow_abbrev=False
    )
    load.add_argument("folder", type=Path, metavar="FOLDER", help="folder written by 'backup'")
    add_store_options(load)
    load.set_defaults(run=restore)
    for command in (save, load):
        add_archive_option(command)
        add_json_option(command)


def back_up(options: argparse.Namespace) -> None:
    """Back up and print a summary."""
    with use_store(options) as store, progress(f"backing up {options.data_dir}"):
        from clearwatt.service.backup import back_up as save

        backup = save(store, options.data_dir, options.to)
    _print(backup, f"{options.data_dir} is backed up in {options.to}", options)


def restore(options: argparse.Namespace) -> None:
    """Check a backup, restore it and print a summary."""
    require_service()
    from clearwatt.service.backup import restore as load

    with progress(f"restoring {options.folder}"):
        backup = load(
            options.folder, options.data_dir, database_of(options), archive=archive_of(options)
        )
    _print(backup, f"{options.folder} is restored to {options.data_dir}", options)


def _print(backup: Backup, title: str, options: argparse.Namespace) -> None:
    facts = {
        "made": backup.created_at,
        "by_release": backup.release,
        "files": len(backup.checksums),
        "bytes": backup.bytes,
    }
    if options.json:
        print_json({"folder": str(backup.folder), "data_dir": str(options.data_dir), **facts})
    else:
        print_tables([facts_table(title, facts)])
