"""``clearwatt token``: create, list and revoke the tokens of a service."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from clearwatt.cli.options import Commands, add_json_option
from clearwatt.cli.printing import (
    print_json,
    print_lines,
    print_tables,
    rows_table,
)
from clearwatt.cli.service import add_store_options, use_store
from clearwatt.errors import DataError

if TYPE_CHECKING:
    from clearwatt.service.records import Token

_ROLES = ("read", "ingest", "operate")


def register(commands: Commands) -> None:
    """Add the commands to the parser."""
    parser = commands.add_parser("token", help="create, list and revoke tokens of a service")
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    create = actions.add_parser(
        "create", help="create a token; it is shown once", allow_abbrev=False
    )
    create.add_argument(
        "--role",
        choices=_ROLES,
        required=True,
        help="read; ingest (includes read); operate (includes both)",
    )
    create.add_argument("--name", required=True, metavar="NAME", help="its holder, for the log")
    create.set_defaults(run=create_token)
    listing = actions.add_parser("list", help="list tokens without secrets", allow_abbrev=False)
    listing.set_defaults(run=list_tokens)
    revoke = actions.add_parser("revoke", help="revoke a token", allow_abbrev=False)
    revoke.add_argument("id", metavar="ID", help="id from 'clearwatt token list'")
    revoke.set_defaults(run=revoke_token)
    for action in (create, listing, revoke):
        add_store_options(action)
        add_json_option(action)


def create_token(options: argparse.Namespace) -> None:
    """Create a token and print it; creates the data directory if it does not exist."""
    with use_store(options, create=True) as store:
        from clearwatt.service.api.security.auth import create_token as new_token

        new = new_token(options.name, options.role)
        store.add_token(new.token)
    if options.json:
        print_json({"token": new.text, **_facts(new.token)})
    else:
        print_lines([new.text])


def list_tokens(options: argparse.Namespace) -> None:
    """Print all tokens without their secrets."""
    with use_store(options) as store:
        tokens = [_facts(token) for token in store.tokens()]
    if options.json:
        print_json(tokens)
        return
    columns = ("id", "name", "role", "created_at", "last_used_at")
    rows = [[token[name] or "–" for name in columns] for token in tokens]
    print_tables([rows_table([name.replace("_", " ") for name in columns], rows)])


def revoke_token(options: argparse.Namespace) -> None:
    """Delete a token; a running service stops accepting it within seconds."""
    with use_store(options) as store:
        if not store.remove_token(options.id):
            raise DataError(f"there is no token {options.id!r}; see 'clearwatt token list'")
    if options.json:
        print_json({"revoked": options.id})
    else:
        print_lines([f"token {options.id} is revoked"])


def _facts(token: Token) -> dict[str, str | None]:
    from clearwatt.service.times import optional_text

    created = optional_text(int(token.created_at))
    used = None if token.last_used_at is None else int(token.last_used_at)
    return {
        "id": token.id,
        "name": token.name,
        "role": token.role,
        "created_at": created,
        "last_used_at": optional_text(used),
    }
