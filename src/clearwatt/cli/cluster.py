"""``clearwatt cluster``: the nodes of a cluster, and moving a service into one."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from clearwatt.cli.options import Commands, add_json_option
from clearwatt.cli.printing import print_json, print_lines, print_tables, progress, rows_table
from clearwatt.cli.service import add_address_options, add_store_options, open_client, use_store

if TYPE_CHECKING:
    from clearwatt.service.api.schemas.cluster import NodeAnswer

_COLUMNS = ("node", "role", "state", "last beat", "zones", "entries waiting", "in training")


def register(commands: Commands) -> None:
    """Add the command and its parts to the parser."""
    parser = commands.add_parser(
        "cluster", help="show or drain the nodes of a cluster", allow_abbrev=False
    )
    parts = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    status = parts.add_parser("status", help="print the nodes and their zones", allow_abbrev=False)
    status.set_defaults(run=show_status)
    drain = parts.add_parser(
        "drain", help="let a node give its zones to the others", allow_abbrev=False
    )
    drain.set_defaults(run=drain_node)
    resume = parts.add_parser("resume", help="let a node take zones again", allow_abbrev=False)
    resume.set_defaults(run=resume_node)
    for part in (drain, resume):
        part.add_argument("node", metavar="NODE", help="name of the node")
    for part in (status, drain, resume):
        add_address_options(part)
        add_json_option(part)
    moving = parts.add_parser(
        "import",
        help="copy models and checkpoints of a data directory into the database of a cluster",
        allow_abbrev=False,
    )
    add_store_options(moving)
    add_json_option(moving)
    moving.set_defaults(run=import_folders)


def show_status(options: argparse.Namespace) -> None:
    """Print a table of the nodes."""
    with open_client(options) as client:
        answer = client.cluster()
    if options.json:
        print_json(answer.model_dump(mode="json"))
        return
    if not answer.nodes:
        print_lines(["this service runs on one machine; 'clearwatt serve --role' makes nodes"])
        return
    print_tables([rows_table(_COLUMNS, [_row(node) for node in answer.nodes])])
    if answer.unheld:
        print_lines([f"no node learns {len(answer.unheld)} zones now: {_some(answer.unheld)}"])


def drain_node(options: argparse.Namespace) -> None:
    """Let a node give its zones away."""
    with open_client(options) as client:
        _print_node(client.drain_node(options.node), as_json=options.json)


def resume_node(options: argparse.Namespace) -> None:
    """Let a node take zones again."""
    with open_client(options) as client:
        _print_node(client.resume_node(options.node), as_json=options.json)


def import_folders(options: argparse.Namespace) -> None:
    """Copy a data directory's folders into the database, while no service runs."""
    with use_store(options) as store:
        from clearwatt.service.cluster.move import copy_folders

        with store.exclusive(), progress(f"copying {options.data_dir}"):
            counts = copy_folders(options.data_dir, store)
    if options.json:
        print_json(counts)
    else:
        parts = ", ".join(f"{count} {name}" for name, count in counts.items())
        print_lines([f"copied to the database: {parts}"])


def _print_node(node: NodeAnswer, *, as_json: bool) -> None:
    if as_json:
        print_json(node.model_dump(mode="json"))
    else:
        print_tables([rows_table(_COLUMNS, [_row(node)])])


def _row(node: NodeAnswer) -> tuple[str, ...]:
    return (
        node.name,
        node.role,
        node.state,
        f"{node.beat_age_seconds:.0f} s ago",
        f"{len(node.zones)}: {_some(node.zones)}" if node.zones else "–",
        "–" if node.queue is None else str(node.queue),
        "–" if node.training is None else str(node.training),
    )


def _some(zones: list[str], most: int = 3) -> str:
    return ", ".join(zones[:most]) + (", …" if len(zones) > most else "")
