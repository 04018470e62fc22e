"""``clearwatt confirm``: say that the readings of a suspected meter are real."""

from __future__ import annotations

import argparse

from clearwatt.cli.learner_command import add_learner_options, finish_command
from clearwatt.cli.options import Commands
from clearwatt.cli.service import open_client
from clearwatt.errors import ConfigurationError


def register(commands: Commands) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "confirm",
        help="say that the readings of a suspected meter are real",
        description="End the suspicion of a meter: its readings leave quarantine and are learned "
        "from. The entity's page and 'clearwatt events --entity NAME' say what is suspected.",
        allow_abbrev=False,
    )
    parser.add_argument("entity", metavar="ENTITY", help="the entity")
    parser.add_argument("--reason", default="", metavar="TEXT", help="why they are real")
    add_learner_options(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Confirm the readings, and print what the learner says about it."""
    with open_client(options) as client:
        suspicion = client.entity(options.entity).suspicion
        if suspicion is None:
            raise ConfigurationError(
                f"{options.entity} is not suspected, so there is nothing to confirm; 'clearwatt "
                f"events --entity {options.entity}' tells what happened"
            )
        finish_command(
            client,
            options,
            client.confirm(options.entity, reason=options.reason),
            facts={"suspicion": suspicion.kind},
            later=f"{options.entity} is confirmed when the learner reaches the command",
            refused=f"{options.entity} was not confirmed",
        )
