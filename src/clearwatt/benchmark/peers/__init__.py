"""The peers, one file each. To add a peer: a file here and a line in `PEERS`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from clearwatt.benchmark.peer import Peer
from clearwatt.benchmark.peers.adaptive import Adaptive
from clearwatt.benchmark.peers.clear import Clear, clear_experiment
from clearwatt.benchmark.peers.climatology import Climatology
from clearwatt.benchmark.peers.lightgbm import LightGBM
from clearwatt.benchmark.peers.lightgbm_quantiles import LightGBMQuantiles
from clearwatt.benchmark.peers.network import PlainNetwork
from clearwatt.benchmark.peers.persistence import LastValue, Persistence
from clearwatt.benchmark.peers.river import River
from clearwatt.errors import ConfigurationError
from clearwatt.experiment.grid import INSTANCES
from clearwatt.experiment.records import ADAPTIVE

__all__ = ["LEAD_PEERS", "PEERS", "QUICK", "choose_instances", "choose_peers"]

PEERS: tuple[Peer, ...] = (
    Persistence(days=1),
    Persistence(days=7),
    LastValue(),
    Climatology(),
    LightGBM("frozen"),
    LightGBM("everything"),
    LightGBM("window"),
    LightGBM("everything", lags=True),
    LightGBM("window", lags=True),
    LightGBM("everything", lags=True, neighbours=True),
    LightGBM("everything", lags=True, last=True),
    LightGBM("everything", lags=True, last=True, days=60),
    LightGBMQuantiles(),
    PlainNetwork("frozen"),
    PlainNetwork("fine-tuned"),
    PlainNetwork("retrained"),
    River("linear"),
    River("arf"),
    River("hat"),
    *(Clear(instance) for instance in INSTANCES),
    Adaptive(),
)

QUICK = (
    "persistence-24h",
    "persistence-168h",
    "climatology",
    "lightgbm-frozen",
    "lightgbm-window",
    "lightgbm-lags",
    "lightgbm-lags-window",
    "river-linear",
    "clear-adaptive",
)
"""Peers that take less than a minute per entity."""

LEAD_PEERS = (
    "last-value",
    "persistence-24h",
    "climatology",
    "lightgbm-lags-last-60d",
    "clear-adaptive",
)
"""Peers that are compared by lead, unless others are chosen."""


def choose_peers(words: Sequence[str] | None) -> tuple[Peer, ...]:
    """Peers by their keys or by the first part of keys ("lightgbm"), in the order of `PEERS`.

    Args:
        words: keys, first parts of keys, "quick" for `QUICK`; None or "all" for every peer.
    """
    if words is None:
        return PEERS
    wanted = [each for word in words for each in _matches(word)]
    return tuple(peer for peer in PEERS if peer in wanted)


def choose_instances(
    words: Sequence[str], networks: Mapping[str, str] | None = None
) -> tuple[Peer, ...]:
    """Peers for keys of the experiment's instances, or strategies of a user's own.

    Args:
        words: "Ra", "A", or "package.module:name".
        networks: own networks by role ("autoencoder", "predictor"), as "package.module:name".
    """
    if networks and ADAPTIVE in words:
        raise ConfigurationError(
            f"instance {ADAPTIVE!r} has networks of its own; give --autoencoder and --predictor "
            "with other instances"
        )
    experiment = clear_experiment(**(networks or {}))
    for word in words:
        experiment.grid.trials(word)  # an unknown or unusable one fails now, not in a worker
    return tuple(Adaptive() if word == ADAPTIVE else Clear(word, experiment) for word in words)


def _matches(word: str) -> list[Peer]:
    exact = [peer for peer in PEERS if peer.key == word]
    found = exact or [
        peer
        for peer in PEERS
        if word == "all"
        or (word == "quick" and peer.key in QUICK)
        or peer.key.startswith(f"{word}-")
    ]
    if not found:
        keys = ", ".join(peer.key for peer in PEERS)
        raise ConfigurationError(
            f"no peer {word!r}; choose from {keys}, what several begin with (such as "
            "lightgbm), quick or all"
        )
    return found
