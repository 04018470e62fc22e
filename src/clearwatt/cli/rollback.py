"""``clearwatt rollback``: put an earlier model of an entity into service again."""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING

from clearwatt.cli.options import Commands, add_json_option
from clearwatt.cli.printing import print_json, print_lines
from clearwatt.cli.service import add_address_options, open_client
from clearwatt.errors import ConfigurationError, DataError

if TYPE_CHECKING:
    from clearwatt.service.api.schemas.base import Accepted
    from clearwatt.service.api.schemas.history import EventAnswer
    from clearwatt.service.client import Client

WAIT = 60.0
"""Seconds to wait for the learner."""
PAUSE = 0.2
"""Seconds between two looks at the events."""


def register(commands: Commands) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "rollback",
        help="put an earlier model of an entity into service again",
        description="Put the model before the deployed one into service again, or the one that is "
        "given. Buffers and past readings stay; 'clearwatt models --entity NAME' lists versions.",
        allow_abbrev=False,
    )
    parser.add_argument("entity", metavar="ENTITY", help="the entity")
    parser.add_argument(
        "--to", metavar="VERSION", help="the version (default: the one before the deployed one)"
    )
    parser.add_argument(
        "--no-wait", action="store_true", help="return when the service has noted the command"
    )
    add_address_options(parser)
    add_json_option(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Activate the version, and print what the learner says about it."""
    with open_client(options) as client:
        version = options.to or version_before(client, options.entity)
        accepted = client.activate(version)
        event = None if options.no_wait else wait_for_event(client, accepted)
    if options.json:
        outcome = None if event is None else event.model_dump(mode="json")
        print_json({"version": version, "command": accepted.command, "event": outcome})
    elif event is None:
        print_lines([f"{version} is put into service when the learner reaches the command"])
    else:
        print_lines([event.message])
    if event is not None and event.kind == "command refused":
        raise DataError(f"{version} was not put into service: {event.message}")


def version_before(client: Client, entity: str) -> str:
    """The newest version of an entity's predictor that served before the deployed one."""
    deployed = client.entity(entity).predictor
    if deployed is None:
        raise ConfigurationError(f"{entity} has no model yet, so there is none to go back to")
    now = client.model(deployed)
    served = [
        model
        for model in client.models(entity=entity).models
        if model.component == now.component
        and model.status == "superseded"
        and model.number < now.number
    ]
    if not served:
        raise ConfigurationError(
            f"{entity} has no model before {deployed}; 'clearwatt models --entity {entity}' lists "
            "the others, --to VERSION chooses one"
        )
    return max(served, key=lambda model: model.number).id


def wait_for_event(client: Client, accepted: Accepted) -> EventAnswer | None:
    """The event of a command; None if the learner has not reached it in time."""
    end = time.monotonic() + WAIT
    while time.monotonic() < end:
        found = [e for e in client.events(zone=accepted.zone).events if e.key == accepted.event]
        if found:
            return found[0]
        time.sleep(PAUSE)
    return None
