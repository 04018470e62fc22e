"""What the options of ``clearwatt benchmark`` describe."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from clearwatt.cli.options import delay_option, entity_choice, own_networks
from clearwatt.errors import ConfigurationError

if TYPE_CHECKING:
    from clearwatt.benchmark.peer import Peer
    from clearwatt.benchmark.run import Benchmark


def benchmark_from(
    options: argparse.Namespace, *, default: Sequence[str] | None = None
) -> Benchmark:
    """The benchmark that the options describe; `default` are the peers if none are chosen."""
    from clearwatt.benchmark.run import Benchmark

    entities = entity_choice(options.entities)
    return Benchmark(
        peers=_peers(options, default),
        entities="all" if entities is None else entities,
        without=tuple(options.without or ()),
        delay=delay_option(options),
        seed=options.seed,
    )


def _peers(options: argparse.Namespace, default: Sequence[str] | None) -> tuple[Peer, ...]:
    """The peers, and the instances that are not among them."""
    from clearwatt.benchmark.peers import choose_instances, choose_peers

    networks = own_networks(options)
    if networks and not options.instances:
        raise ConfigurationError(
            f"--{next(iter(networks))} is given without --instances; say which instances have it, "
            "such as --instances Ra"
        )
    peers = choose_peers(options.peers or default)
    added = choose_instances(options.instances or (), networks)
    return (*peers, *(peer for peer in added if peer not in peers))


def require_out(options: argparse.Namespace) -> None:
    """Raise if there is no folder for the results."""
    if options.out is None:
        raise ConfigurationError("--out is missing; give a folder for the results")
