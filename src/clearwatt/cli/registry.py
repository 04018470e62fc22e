"""``clearwatt zones`` and ``clearwatt entities``: list, rename, delete and judge by lead."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from datetime import timedelta
from typing import TYPE_CHECKING

from clearwatt.cli.lead_report import Subject, add_leads_action
from clearwatt.cli.options import Commands, add_json_option
from clearwatt.cli.printing import print_json, print_lines, print_tables, rows_table, write_line
from clearwatt.cli.service import add_address_options, open_client
from clearwatt.errors import ConfigurationError

if TYPE_CHECKING:
    from clearwatt.service.api.schemas.entities import EntityAnswer
    from clearwatt.service.api.schemas.zones import ZoneAnswer
    from clearwatt.service.client import Client

PAGE = 1000


def register(commands: Commands) -> None:
    """Add the commands to the parser."""
    _register(commands, "zones", "zone")
    _register(commands, "entities", "entity")


def _register(commands: Commands, command: str, subject: Subject) -> None:
    about = f"list, rename or delete {command} of a running service, or show errors by lead"
    parser = commands.add_parser(command, help=about, allow_abbrev=False)
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    listing = actions.add_parser("list", help=f"list the {command}", allow_abbrev=False)
    renaming = actions.add_parser(
        "rename", help="change the name that people see; the id stays", allow_abbrev=False
    )
    add_leads_action(actions, subject)
    deletion = actions.add_parser(
        "delete", help="delete one with everything stored of it, for good", allow_abbrev=False
    )
    for action in (renaming, deletion):
        action.add_argument("id", metavar="ID", help=f"id of the {subject}")
    renaming.add_argument("name", metavar="NAME", help="its new name")
    deletion.add_argument("--yes", action="store_true", help="do not ask")
    runs = ((listing, run_list), (renaming, run_rename), (deletion, run_delete))
    for action, run in runs:
        add_address_options(action)
        add_json_option(action)
        action.set_defaults(run=run, subject=subject)


def run_list(options: argparse.Namespace) -> None:
    """Print a table of zones or entities."""
    with open_client(options) as client:
        zones = options.subject == "zone"
        found: list[ZoneAnswer | EntityAnswer] = []
        found += client.zones().zones if zones else _entities(client)
    if options.json:
        print_json([each.model_dump(mode="json") for each in found])
        return
    columns = (
        ("zone", "name", "step (s)", "entities", "state", "newest reading", "delay")
        if zones
        else ("entity", "name", "zone", "kind", "capacity", "state", "delay")
    )
    print_tables([rows_table(columns, map(_row, found))])


def _row(each: ZoneAnswer | EntityAnswer) -> tuple[object, ...]:
    from clearwatt.service.api.schemas.zones import ZoneAnswer

    if isinstance(each, ZoneAnswer):
        newest, delay = each.watermark or "–", _delay(each.reporting_delay)
        return each.id, each.name, each.step, each.entities, each.state, newest, delay
    capacity = "–" if each.capacity is None else f"{each.capacity:g} {each.unit}"
    delay = _delay(each.reporting_delay)
    return each.id, each.name, each.zone, each.kind, capacity, each.state, delay


def _delay(seconds: int | None) -> str:
    """The reporting delay in a table."""
    return "–" if seconds is None else str(timedelta(seconds=seconds))


def run_rename(options: argparse.Namespace) -> None:
    """Change a name."""
    with open_client(options) as client:
        renamed = client.rename(options.name, **{options.subject: options.id})
    if options.json:
        print_json(renamed.model_dump(mode="json"))
    else:
        print_lines([f"{options.subject} {renamed.id} is called {renamed.name} now"])


def run_delete(options: argparse.Namespace) -> None:
    """Ask, and delete a zone or an entity."""
    with open_client(options) as client:
        what, count = _subject_of(client, options.subject, options.id)
        if not options.yes:
            _confirm(what, options.id)
        if options.subject == "zone":
            gone = client.delete_zone(options.id).entities
        else:
            client.delete_entity(options.id)
            gone = [options.id]
    if options.json:
        print_json({"deleted": options.id, "kind": options.subject, "entities": gone})
    else:
        more = f" with its {count} entities" if options.subject == "zone" else ""
        print_lines([f"{options.subject} {options.id} is deleted{more}"])


def _subject_of(client: Client, subject: Subject, identity: str) -> tuple[str, int]:
    """What would be deleted, in words, and how many entities."""
    if subject == "entity":
        entity = client.entity(identity)
        return f"entity {identity} of zone {entity.zone}, with its readings and models", 1
    count = client.zone(identity).entities
    what = f"zone {identity} with {count} entities, their readings, weather and models"
    return what, count


def _confirm(what: str, identity: str) -> None:
    """Ask for the id on a terminal; elsewhere --yes must say it."""
    if not sys.stdin.isatty():
        raise ConfigurationError(
            f"this deletes {what}, for good; 'clearwatt backup' makes a copy of everything, --yes "
            "deletes"
        )
    write_line(
        f"This deletes {what}. It cannot be undone; 'clearwatt backup' makes a copy of everything."
    )
    sys.stderr.write(f"Type {identity} to delete it: ")
    sys.stderr.flush()
    if sys.stdin.readline().strip() != identity:
        raise ConfigurationError("nothing was deleted")


def _entities(client: Client) -> Iterator[EntityAnswer]:
    offset = 0
    while page := client.entities(limit=PAGE, offset=offset).entities:
        yield from page
        offset += len(page)
