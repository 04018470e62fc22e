"""``clearwatt prior``: what entities without history start from: train, show, import, export."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clearwatt.cli.options import Commands, add_json_option, add_without_option
from clearwatt.cli.printing import facts_table, print_json, print_tables, rows_table, write_line
from clearwatt.cli.service import (
    DATABASE_VARIABLE,
    add_address_options,
    open_client,
    use_store,
)
from clearwatt.errors import ConfigurationError

if TYPE_CHECKING:
    from clearwatt.adaptive import FleetPrior
    from clearwatt.cli.prior_access import PriorAccess
    from clearwatt.service.api.schemas.priors import PriorAnswer


def register(commands: Commands) -> None:
    """Add the command and its parts to the parser."""
    parser = commands.add_parser(
        "prior",
        help="train, show, import or export what entities without history start from",
        allow_abbrev=False,
    )
    parts = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    train = parts.add_parser(
        "train", help="train a prior on the entities of a data set", allow_abbrev=False
    )
    train.add_argument("data", metavar="DATA", help="name of the catalogue, or folder")
    train.add_argument("--out", type=Path, metavar="FILE", required=True, help="file to write")
    add_without_option(train)
    train.add_argument("--seed", type=int, default=0, help="equal seeds give equal priors")
    add_json_option(train)
    train.set_defaults(run=train_on_dataset)
    show = parts.add_parser(
        "show", help="print what a prior was trained on, and how far it errs", allow_abbrev=False
    )
    show.add_argument("file", type=Path, metavar="FILE", help="file that 'prior train' wrote")
    add_json_option(show)
    show.set_defaults(run=show_prior)
    listing = parts.add_parser("list", help="list the priors of a service", allow_abbrev=False)
    listing.set_defaults(run=list_priors)
    bringing = parts.add_parser(
        "import", help="let entities of a service start from a prior", allow_abbrev=False
    )
    bringing.add_argument("file", type=Path, metavar="FILE", help="file that holds a prior")
    bringing.set_defaults(run=import_prior)
    taking = parts.add_parser(
        "export", help="write a prior of a service to a file", allow_abbrev=False
    )
    taking.add_argument("--out", type=Path, metavar="FILE", required=True, help="file to write")
    taking.add_argument("--number", type=int, metavar="N", help="which prior (default: the newest)")
    taking.set_defaults(run=export_prior)
    for part in (listing, bringing, taking):
        _add_service_options(part)
        add_json_option(part)


def _add_service_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that name a service: its address, or its data directory."""
    add_address_options(parser)
    parser.add_argument(
        "--data-dir", type=Path, metavar="DIR", help="data directory, instead of --url"
    )
    parser.add_argument(
        "--database",
        metavar="URL",
        help=f"with --data-dir: postgresql://… instead of SQLite (default: ${DATABASE_VARIABLE})",
    )


def list_priors(options: argparse.Namespace) -> None:
    """Print the priors of a service."""
    with _service(options) as service:
        _print_stored(service.list(), as_json=options.json)


def import_prior(options: argparse.Namespace) -> None:
    """Check a prior and hand it to a service."""
    from clearwatt.adaptive import FleetPrior

    content = FleetPrior.load(options.file).to_bytes()
    with _service(options) as service:
        _print_stored([service.add(content)], as_json=options.json)


def export_prior(options: argparse.Namespace) -> None:
    """Write a prior of a service to a file."""
    from clearwatt.files import write_atomically

    with _service(options) as service:
        known = service.list()
        chosen = [each for each in known if options.number in (None, each.number)]
        if not chosen:
            asked = "none" if options.number is None else f"no prior {options.number}"
            there = ", ".join(str(each.number) for each in known) or "none"
            raise ConfigurationError(f"the service has {asked}; there are: {there}")
        write_atomically(options.out, service.content(chosen[0].digest))
    _print_stored(chosen[:1], as_json=options.json)


@contextmanager
def _service(options: argparse.Namespace) -> Iterator[PriorAccess]:
    """The priors of a service, by its data directory or over HTTP."""
    from clearwatt.cli.prior_access import RemotePriors, StoredPriors

    if options.data_dir is not None:
        with use_store(options) as store:
            yield StoredPriors(store)
    else:
        with open_client(options) as client:
            yield RemotePriors(client)


def _print_stored(priors: Sequence[PriorAnswer], *, as_json: bool) -> None:
    if as_json:
        print_json([each.model_dump(mode="json") for each in priors])
        return
    rows = [
        (
            each.number,
            each.origin,
            each.at,
            each.source or "–",
            ", ".join(each.weather),
            ", ".join(f"{kind.kind} ({kind.entities})" for kind in each.kinds),
            each.digest[:16],
        )
        for each in priors
    ]
    columns = ("prior", "origin", "since", "source", "weather", "kinds (entities)", "checksum")
    print_tables([rows_table(columns, rows)])


def train_on_dataset(options: argparse.Namespace) -> None:
    """Train a prior on all entities of a data set, write it to a file and show it."""
    from clearwatt.adaptive import train_prior
    from clearwatt.adaptive.prior_dataset import fleet_of
    from clearwatt.clock import steps_per_day
    from clearwatt.data import load_dataset

    dataset = load_dataset(options.data)
    for name in options.without or ():
        dataset.entity(name)
    dataset = dataset.select(
        [name for name in dataset.names if name not in (options.without or ())]
    )
    prior = train_prior(
        fleet_of(dataset),
        day=steps_per_day(dataset.step),
        source=dataset.name,
        trained=datetime.now(UTC).isoformat(timespec="seconds"),
        seed=options.seed,
        progress=write_line,
    )
    prior.save(options.out)
    _print(prior, as_json=options.json)


def show_prior(options: argparse.Namespace) -> None:
    """Print what a prior was trained on."""
    from clearwatt.adaptive import FleetPrior

    _print(FleetPrior.load(options.file), as_json=options.json)


def _print(prior: FleetPrior, *, as_json: bool) -> None:
    facts: dict[str, Any] = {
        "source": prior.source,
        "trained": prior.trained,
        "weather": list(prior.weather),
        "checksum": prior.digest,
    }
    kinds: list[dict[str, Any]] = [
        {
            "kind": name,
            "entities": kind.entities,
            "samples": kind.samples,
            "mean": kind.power.mean.item(),
            "error": kind.error * kind.power.scale.item(),
        }
        for name, kind in prior.kinds.items()
    ]
    if as_json:
        print_json({**facts, "kinds": kinds})
        return
    rows = [
        (each["kind"], each["entities"], each["samples"], *_shares(each["mean"], each["error"]))
        for each in kinds
    ]
    columns = ("kind", "entities", "samples", "mean power", "mean error on a new entity")
    shown = facts | {"weather": ", ".join(prior.weather), "checksum": prior.digest[:16]}
    print_tables([facts_table("fleet prior", shown), rows_table(columns, rows)])


def _shares(*values: float) -> list[str]:
    """Shares of capacity as text."""
    return [f"{100 * value:.1f} % of capacity" for value in values]
