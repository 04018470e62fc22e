"""``clearwatt simulate``: write a simulated regional grid to a folder."""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Mapping
from pathlib import Path

from clearwatt.cli.data import dataset_summary
from clearwatt.cli.options import Commands, add_json_option, add_list_option
from clearwatt.cli.printing import (
    facts_table,
    print_json,
    print_lines,
    print_tables,
    progress,
)
from clearwatt.errors import ConfigurationError


def register(commands: Commands) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "simulate",
        help="simulate the regional grid with drift and save it as a data set",
        allow_abbrev=False,
    )
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder to write")
    parser.add_argument(
        "--entities", type=int, default=95, metavar="N", help="how many entities (default 95)"
    )
    parser.add_argument(
        "--steps", type=int, default=67_764, metavar="N", help="quarter-hours (default 67764)"
    )
    parser.add_argument(
        "--seed", type=int, default=0, metavar="S", help="same seed, same bytes (default 0)"
    )
    add_list_option(parser, "--without", "DRIFT", "switch these drifts off")
    add_list_option(
        parser,
        "--scale",
        "DRIFT=FACTOR",
        "make these drifts weaker or stronger",
        parse=_drift_factor,
    )
    parser.add_argument(
        "--overwrite", action="store_true", help="replace a data set already in DIR"
    )
    add_json_option(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Simulate, save, and print a summary with the checksum of each file."""
    from clearwatt.data import simulate_grid  # imports pvlib, which is slow
    from clearwatt.data.folder import check_target

    # A target that can never be written to is an error before the work. Another data set there is
    # one only after it, because repeating the same command gives the same folder.
    check_target(options.out, overwrite=True)
    with progress(f"simulating {options.entities} entities over {options.steps} quarter-hours"):
        dataset = simulate_grid(
            options.entities,
            options.steps,
            options.seed,
            drifts=_factors(options.without, options.scale),
        )
    with progress(f"writing {options.out}"):
        dataset.save(options.out, overwrite=options.overwrite)
    facts = dataset_summary(dataset)
    checksums = _checksums(options.out)
    if options.json:
        print_json({**facts, "folder": str(options.out), "sha256": checksums})
        return
    print_tables([facts_table(str(options.out), facts)])
    print_lines(f"{digest}  {options.out / name}" for name, digest in checksums.items())


def _drift_factor(text: str) -> tuple[str, float]:
    name, _, factor = text.partition("=")
    try:
        return name, float(factor)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not DRIFT=FACTOR, for example outage=0.5"
        ) from None


def _factors(without: list[str], scaled: list[tuple[str, float]]) -> Mapping[str, float]:
    factors = dict(scaled)
    for name in without:
        if name in factors:
            raise ConfigurationError(
                f"drift {name!r} is both switched off and scaled; give it to --without or --scale"
            )
        factors[name] = 0.0
    return factors


def _checksums(folder: Path) -> dict[str, str]:
    return {
        file.name: hashlib.sha256(file.read_bytes()).hexdigest()
        for file in sorted(folder.iterdir())
    }
