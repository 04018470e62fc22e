"""What the options of ``clearwatt benchmark`` describe."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from clearwatt.cli.options import delay_option, entity_choice
from clearwatt.errors import ConfigurationError

if TYPE_CHECKING:
    from clearwatt.benchmark.run import Benchmark


def benchmark_from(options: argparse.Namespace) -> Benchmark:
    """The benchmark that the options describe."""
    from clearwatt.benchmark.peers import choose_peers
    from clearwatt.benchmark.run import Benchmark

    entities = entity_choice(options.entities)
    return Benchmark(
        peers=choose_peers(options.peers),
        entities="all" if entities is None else entities,
        without=tuple(options.without or ()),
        delay=delay_option(options),
        seed=options.seed,
    )


def require_out(options: argparse.Namespace) -> None:
    """Raise if there is no folder for the results."""
    if options.out is None:
        raise ConfigurationError("--out is missing; give a folder for the results")
