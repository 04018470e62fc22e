"""``clearwatt serve``: run the service."""

from __future__ import annotations

import argparse
import math
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clearwatt.cli.ages import OFF, parse_age
from clearwatt.cli.options import Commands
from clearwatt.cli.printing import print_lines, progress
from clearwatt.cli.service import (
    add_archive_option,
    add_store_options,
    database_of,
    require_service,
)
from clearwatt.cli.sizes import parse_size
from clearwatt.errors import ConfigurationError

if TYPE_CHECKING:
    from clearwatt.service.serve import ServeOptions
    from clearwatt.service.store import Store

_LEVELS = ("debug", "info", "warning", "error")
NODE_NAME = re.compile(r"[A-Za-z0-9._-]{1,100}")


def register(commands: Commands) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "serve", help="run the service: forecasts over HTTP, models that learn", allow_abbrev=False
    )
    add_store_options(parser)
    _add_http_options(parser)
    _add_learner_options(parser)
    parser.add_argument(
        "--weather-url",
        metavar="URL",
        help="mirror of Open-Meteo for zones whose weather the service fetches",
    )
    parser.add_argument(
        "--prior-days",
        type=float,
        default=7.0,
        metavar="N",
        help="days between two trainings of fleet priors (default 7; 0: never)",
    )
    _add_cluster_options(parser)
    _add_retention_options(parser)
    _add_import_options(parser)
    parser.set_defaults(run=run)


def _add_http_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--host", default="127.0.0.1", metavar="H", help="address to listen on (default 127.0.0.1)"
    )
    parser.add_argument(
        "--port", type=int, default=8000, metavar="P", help="port (default 8000; 0: any)"
    )
    parser.add_argument(
        "--max-body",
        type=int,
        metavar="BYTES",
        help="largest accepted request body (default 16 MB)",
    )
    parser.add_argument(
        "--rate", type=float, metavar="N", help="requests per second per caller (default 1000)"
    )
    parser.add_argument(
        "--burst", type=int, metavar="N", help="burst of requests per caller (default 2000)"
    )
    parser.add_argument(
        "--log-level", choices=_LEVELS, default="info", help="lowest level logged (default info)"
    )


def _add_learner_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--workers",
        type=int,
        metavar="N",
        help="models trained in parallel (default: one less than the cores)",
    )
    parser.add_argument(
        "--learner-memory",
        type=parse_size,
        metavar="SIZE",
        help="memory of the learner process, as in 800M or 4G; zones beyond it rest on disk "
        "between their readings (default: all stay in memory)",
    )
    parser.add_argument(
        "--updater",
        choices=("processes", "ray"),
        default="processes",
        help="where models are trained (default processes)",
    )
    parser.add_argument("--ray-address", metavar="A", help="address of a Ray cluster to join")
    parser.add_argument(
        "--gate",
        type=_gate,
        metavar="MARGIN",
        help="relative increase of error at which an update is rejected, or 'off'",
    )
    parser.add_argument(
        "--lateness",
        type=int,
        metavar="S",
        help="seconds to wait for late readings (default 86400)",
    )


def _add_cluster_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--role",
        choices=("all", "web", "learner"),
        default="all",
        help="a whole service (default), or a web or learner node of a cluster; nodes share a "
        "PostgreSQL database",
    )
    parser.add_argument(
        "--node",
        metavar="NAME",
        help="name of a node of a cluster (default: its role and the name of the host)",
    )


def _add_retention_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--keep-vintages",
        type=parse_age,
        default="400d",
        metavar="AGE",
        help="how long recorded forecasts are kept: 90d, 12h, 2w or 'off' for ever (default 400d)",
    )
    parser.add_argument(
        "--keep-journal",
        type=parse_age,
        default=OFF,
        metavar="AGE",
        help="how long entries of the journal stay in the database before they are archived in "
        "DIR/archive: 90d, 12h, 2w or 'off' for ever (default off)",
    )
    add_archive_option(parser)


def _add_import_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--from",
        dest="run_folder",
        type=Path,
        metavar="RUN",
        help="start with the models of a finished experiment",
    )
    parser.add_argument(
        "--instance",
        default="RecentReplay",
        metavar="NAME",
        help="instance of RUN whose models are used (default RecentReplay)",
    )
    parser.add_argument("--data", metavar="DATA", help="data set of RUN")


def run(options: argparse.Namespace) -> None:
    """Run the service until it receives a signal to stop."""
    require_service()
    from clearwatt.service.serve import serve

    serve_options = _serve_options(options)
    prepare = _import_step(options, serve_options) if options.run_folder else None
    serve(
        serve_options,
        prepare=prepare,
        ready=_announce_node if options.role == "learner" else _announce,
    )


def _serve_options(options: argparse.Namespace) -> ServeOptions:
    from clearwatt.service.config import ServiceConfig
    from clearwatt.service.learner.process import LearnerConfig
    from clearwatt.service.serve import ServeOptions

    limits = {name: getattr(options, name) for name in ("max_body", "rate", "burst")}
    web = ServiceConfig(
        host=options.host,
        port=options.port,
        zone_defaults=_zone_defaults(options),
        **{name: value for name, value in limits.items() if value is not None},
    )
    learner = LearnerConfig(
        data_dir=options.data_dir,
        database=database_of(options),
        updater=options.updater,
        workers=options.workers,
        ray_address=options.ray_address,
        log_level=options.log_level,
        memory=options.learner_memory,
        archive=options.archive,
    )
    if not (math.isfinite(options.prior_days) and options.prior_days >= 0):
        raise ConfigurationError(f"--prior-days is {options.prior_days}; give days, 0 or more")
    _check_cluster_options(options)
    return ServeOptions(
        web,
        learner,
        log_level=options.log_level,
        weather_url=options.weather_url,
        prior_days=options.prior_days,
        keep_vintages=options.keep_vintages,
        keep_journal=options.keep_journal,
        role=options.role,
        node=options.node,
    )


def _check_cluster_options(options: argparse.Namespace) -> None:
    if options.role == "all":
        if options.node is not None:
            raise ConfigurationError(
                f"--node is {options.node!r}, but a service with --role all is no node; give "
                "--role web or --role learner"
            )
        return
    if options.role == "web" and options.learner_memory is not None:
        raise ConfigurationError(
            "--learner-memory limits a learner, which a node with --role web has not; give it to "
            "the nodes with --role learner"
        )
    if options.run_folder:
        raise ConfigurationError(
            "--from starts a whole service; start one with it, then move its models with "
            "'clearwatt cluster import' and give --role"
        )
    if options.keep_journal is not None and options.role == "learner":
        raise ConfigurationError(
            "--keep-journal is for the nodes with --role web, one of which archives for all; give "
            "a node with --role learner only --archive"
        )
    if options.keep_journal is not None and options.archive is None:
        raise ConfigurationError(
            "--keep-journal archives to the disk of this node, which other nodes cannot read; give "
            "all nodes --archive with a folder that they share"
        )
    if options.node is not None and not NODE_NAME.fullmatch(options.node):
        raise ConfigurationError(
            f"--node is {options.node!r}; use up to 100 letters, digits, '.', '_' and '-'"
        )


def _zone_defaults(options: argparse.Namespace) -> dict[str, Any]:
    defaults: dict[str, Any] = {}
    if options.gate is not None:
        defaults["gate_margin"] = None if options.gate == OFF else options.gate
    if options.lateness is not None:
        defaults["lateness"] = options.lateness
    return defaults


def _import_step(
    options: argparse.Namespace, serve_options: ServeOptions
) -> Callable[[Store], None]:
    """Read the run now, so that its errors are reported before anything starts."""
    from clearwatt.cli.finished_run import read_finished_run
    from clearwatt.cli.model_import import import_run

    with progress(f"reading {options.run_folder}"):
        finished = read_finished_run(
            options.run_folder, instance=options.instance, data=options.data
        )

    def prepare(store: Store) -> None:
        with progress(f"importing the warm-up of {options.run_folder}"):
            import_run(finished, store, options.data_dir, defaults=serve_options.web.zone_defaults)

    return prepare


def _announce(address: str) -> None:
    """Print the address."""
    _print(f"serving at {address} (its description: {address}/openapi.json)")


def _announce_node(name: str) -> None:
    """Print the name of a learner node."""
    _print(f"learning as node {name}; 'clearwatt cluster status' shows its zones")


def _print(line: str) -> None:
    """Print a line; a closed stdout must not stop the service."""
    try:
        print_lines([line])
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _gate(text: str) -> float | str:
    if text == OFF:
        return OFF
    try:
        margin = float(text)
    except ValueError:
        margin = -1.0
    if not 0 <= margin < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is neither a share such as 0.1 nor 'off'")
    return margin
