"""Options shared by the commands around the service: its address, token and data directory."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from clearwatt.errors import ConfigurationError, MissingExtraError

if TYPE_CHECKING:
    from clearwatt.service.client import Client
    from clearwatt.service.store import Store

ADDRESS = "http://127.0.0.1:8000"
TOKEN_VARIABLE = "CLEARWATT_TOKEN"
DATABASE_VARIABLE = "CLEARWATT_DATABASE_URL"
_PACKAGES = ("fastapi", "uvicorn", "prometheus_client", "httpx")


def require_service() -> None:
    """Raise MissingExtraError if a package of the service is not installed."""
    for package in _PACKAGES:
        if find_spec(package) is None:
            raise MissingExtraError(package, "service")


def add_address_options(parser: argparse.ArgumentParser) -> None:
    """Add --url and --token."""
    parser.add_argument(
        "--url", default=ADDRESS, metavar="URL", help=f"address of the service (default {ADDRESS})"
    )
    add_token_option(parser)


def open_client(options: argparse.Namespace) -> Client:
    """A client of the service at the address of the options."""
    require_service()
    from clearwatt.service.client import Client

    return Client(options.url, token_of(options))


def require_known(client: Client, *, zone: str | None, entity: str | None) -> None:
    """Raise the service's error if a zone or an entity of the options is not registered."""
    if zone is not None:
        client.zone(zone)
    if entity is not None:
        client.entity(entity)


def add_token_option(parser: argparse.ArgumentParser) -> None:
    """Add --token; the environment is safer, because other users can see a command line."""
    parser.add_argument(
        "--token", metavar="TOKEN", help=f"bearer token (default: ${TOKEN_VARIABLE}, if set)"
    )


def token_of(options: argparse.Namespace) -> str | None:
    """The token from the options or the environment."""
    return options.token or os.environ.get(TOKEN_VARIABLE) or None


def add_store_options(parser: argparse.ArgumentParser) -> None:
    """Add --data-dir and --database."""
    parser.add_argument(
        "--data-dir", type=Path, required=True, metavar="DIR", help="the service's data directory"
    )
    parser.add_argument(
        "--database",
        metavar="URL",
        help=f"postgresql://… instead of SQLite in DIR (default: ${DATABASE_VARIABLE}, if set)",
    )


def add_archive_option(parser: argparse.ArgumentParser) -> None:
    """Add --archive."""
    parser.add_argument(
        "--archive",
        type=Path,
        metavar="FOLDER",
        help="where archived entries of the journal are (default: DIR/archive); in a cluster, a "
        "folder that all nodes share",
    )


def archive_of(options: argparse.Namespace) -> Path:
    """The folder of archived entries: from the options, or the one of the data directory."""
    from clearwatt.service.store.journal_archive import ARCHIVE

    given: Path | None = getattr(options, "archive", None)
    return given or options.data_dir / ARCHIVE


def database_of(options: argparse.Namespace) -> str:
    """The address of the database: from the options, the environment, or SQLite in DIR."""
    given = options.database or os.environ.get(DATABASE_VARIABLE)
    if given and not given.startswith(("postgresql://", "postgres://")):
        # The rest of the address may contain a password.
        raise ConfigurationError(
            f"the database is {given.partition(':')[0]!r}:…; give postgresql://user@host/name, or "
            "nothing for SQLite in the data directory"
        )
    return given or str(options.data_dir / "clearwatt.db")


@contextmanager
def use_store(options: argparse.Namespace, *, create: bool = False) -> Iterator[Store]:
    """The store of a data directory, closed with the block.

    Args:
        options: has ``data_dir`` and ``database``, and may have ``archive``.
        create: create a missing directory; otherwise it is an error.
    """
    require_service()
    from clearwatt.service.permissions import create_private_files
    from clearwatt.service.store import open_store

    if not create and not options.data_dir.is_dir():
        raise ConfigurationError(
            f"{options.data_dir} does not exist; give the --data-dir of a service"
        )
    with create_private_files():
        options.data_dir.mkdir(parents=True, exist_ok=True)
        with closing(open_store(database_of(options), archive=archive_of(options))) as store:
            yield store
