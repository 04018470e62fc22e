"""``clearwatt rollback``: put an earlier model of an entity into service again."""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING

from clearwatt.cli.learner_command import add_learner_options, finish_command
from clearwatt.cli.options import Commands
from clearwatt.cli.service import open_client
from clearwatt.errors import ConfigurationError

if TYPE_CHECKING:
    from clearwatt.service.client import Client


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
    add_learner_options(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Activate the version, and print what the learner says about it."""
    with open_client(options) as client:
        if options.to is not None:
            require_own(client, options.entity, options.to)
        version = options.to or version_before(client, options.entity)
        finish_command(
            client,
            options,
            client.activate(version),
            facts={"version": version},
            later=f"{version} is put into service when the learner reaches the command",
            refused=f"{version} was not put into service",
        )


def require_own(client: Client, entity: str, version: str) -> None:
    """Raise a ConfigurationError unless a version is the entity's or one that its zone shares."""
    from clearwatt.service.api.schemas.base import VERSION_PATTERN

    zone = client.entity(entity).zone
    if not re.fullmatch(VERSION_PATTERN, version):
        raise ConfigurationError(
            f"--to is {version!r}, which is not the id of a version; 'clearwatt models --entity "
            f"{entity}' lists them"
        )
    found = client.model(version)
    if found.entity not in (entity, None) or found.zone != zone:
        raise ConfigurationError(
            f"{version} is not a model of {entity}; 'clearwatt models --entity {entity}' lists "
            "those that are"
        )


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
