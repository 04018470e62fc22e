"""Options that several commands share."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, TypeAlias

from clearwatt.errors import ConfigurationError

if TYPE_CHECKING:
    import pandas as pd

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
"""The place where a command is registered."""
DELAY = 24.0
"""Hours until a measurement is known, unless ``--delay`` says otherwise."""
NETWORKS = ("autoencoder", "predictor")
"""Networks that a user may replace."""


def add_json_option(parser: argparse.ArgumentParser) -> None:
    """Add ``--json``, which every command that prints a table has."""
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")


def add_without_option(parser: argparse.ArgumentParser) -> None:
    """Add ``--without``: entities to leave out of those that ``--entities`` names."""
    parser.add_argument("--without", nargs="+", metavar="ENTITY", help="leave these out")


def add_list_option(
    parser: argparse.ArgumentParser,
    name: str,
    metavar: str,
    about: str,
    *,
    parse: Callable[[str], object] = str,
) -> None:
    """Add an option with one value or more; it may be given several times."""
    parser.add_argument(
        name, nargs="+", action="extend", default=[], type=parse, metavar=metavar, help=about
    )


def add_executor_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the executor of a long command."""
    parser.add_argument(
        "--executor",
        choices=("serial", "processes", "ray"),
        default="processes",
        help="who does the work (default processes)",
    )
    parser.add_argument("--workers", type=int, metavar="N", help="how many (default: one per core)")
    parser.add_argument("--ray-address", metavar="A", help="of a Ray cluster to join")


def add_network_options(parser: argparse.ArgumentParser) -> None:
    """Add the options for networks of a user's own."""
    for name in NETWORKS:
        parser.add_argument(
            f"--{name}",
            metavar="PATH",
            help=f"a function of your own that makes the {name}, as package.module:name",
        )


def own_networks(options: argparse.Namespace) -> dict[str, str]:
    """Networks of a user's own that are given, by role."""
    given = {name: getattr(options, name) for name in NETWORKS}
    return {name: path for name, path in given.items() if path is not None}


def entity_choice(
    words: list[str] | None,
) -> Literal["all"] | int | tuple[str, ...] | None:
    """The value of ``--entities``: a number, all, or names; ``None`` if the option is absent."""
    if words is None:
        return None
    if len(words) > 1 or not (words[0].isdigit() or words[0] == "all"):
        return tuple(words)
    return "all" if words[0] == "all" else int(words[0])


def delay_option(options: argparse.Namespace) -> pd.Timedelta:
    """The value of ``--delay``, which is in hours."""
    import pandas as pd

    if not (math.isfinite(options.delay) and options.delay > 0):
        raise ConfigurationError(f"--delay is {options.delay}; give hours, more than 0")
    return pd.Timedelta(hours=options.delay)
