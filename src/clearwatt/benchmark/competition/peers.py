"""Who takes part in the competition."""

from __future__ import annotations

from collections.abc import Sequence

from clearwatt.benchmark.competition.adaptive import AdaptiveByLead
from clearwatt.benchmark.competition.lightgbm import LightGBMByLead
from clearwatt.benchmark.competition.peer import BlockPersistence, CompetitionPeer
from clearwatt.errors import ConfigurationError

COMPETITION_PEERS: tuple[CompetitionPeer, ...] = (
    BlockPersistence(),
    LightGBMByLead(),
    AdaptiveByLead(),
)


def choose_competition_peers(keys: Sequence[str] | None) -> tuple[CompetitionPeer, ...]:
    """Peers by their keys; None or "all" for every peer."""
    if keys is None or "all" in keys:
        return COMPETITION_PEERS
    known = [peer.key for peer in COMPETITION_PEERS]
    for key in keys:
        if key not in known:
            raise ConfigurationError(
                f"no peer {key!r} in the competition; choose from {', '.join(known)}, or all"
            )
    return tuple(peer for peer in COMPETITION_PEERS if peer.key in keys)
