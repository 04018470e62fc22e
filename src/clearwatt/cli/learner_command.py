"""Commands that the learner carries out: waiting for it, and printing what it says."""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

from clearwatt.cli.options import add_json_option
from clearwatt.cli.printing import print_json, print_lines
from clearwatt.cli.service import add_address_options
from clearwatt.errors import DataError

if TYPE_CHECKING:
    from clearwatt.service.api.schemas.base import Accepted
    from clearwatt.service.api.schemas.history import EventAnswer
    from clearwatt.service.client import Client

WAIT = 60.0
"""Seconds to wait for the learner."""
PAUSE = 0.2
"""Seconds between two looks at the events."""


def add_learner_options(parser: argparse.ArgumentParser) -> None:
    """Add ``--no-wait``, the address of the service, and ``--json``."""
    parser.add_argument(
        "--no-wait", action="store_true", help="return when the service has noted the command"
    )
    add_address_options(parser)
    add_json_option(parser)


def finish_command(
    client: Client,
    options: argparse.Namespace,
    accepted: Accepted,
    *,
    facts: Mapping[str, str],
    later: str,
    refused: str,
) -> None:
    """Wait for the learner unless told not to, and print what it says.

    Args:
        client: Of the service.
        options: With those of `add_learner_options`.
        accepted: The command.
        facts: Of the command, for JSON.
        later: Printed if the learner has not reached it.
        refused: Beginning of the error if the learner refuses it.
    """
    event = None if options.no_wait else wait_for_event(client, accepted)
    if options.json:
        outcome = None if event is None else event.model_dump(mode="json")
        print_json({**facts, "command": accepted.command, "event": outcome})
    else:
        print_lines([later if event is None else event.message])
    if event is not None and event.kind == "command refused":
        raise DataError(f"{refused}: {event.message}")


def wait_for_event(client: Client, accepted: Accepted) -> EventAnswer | None:
    """The event of a command; None if the learner has not reached it in time."""
    end = time.monotonic() + WAIT
    while time.monotonic() < end:
        found = [e for e in client.events(zone=accepted.zone).events if e.key == accepted.event]
        if found:
            return found[0]
        time.sleep(PAUSE)
    return None
