"""Base classes of the three real-replay approaches: Equation 2 on real past samples."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from clearwatt.errors import require_whole
from clearwatt.memory import Policy
from clearwatt.strategies.base import (
    Access,
    Objective,
    Strategy,
    Update,
    Weighting,
    check_replay,
    replay_objective,
)


@dataclass(frozen=True)
class RealReplay(Strategy):
    """Abstract: L_N + λ_R · L_R, with a new replay set at each update.

    Args:
        replay_weight: λ_R, weight of the replayed samples' loss.
        replay_size: S_R; None for the novelty capacity.
        weighting: "count": the replay set weighs λ_R times as much as all samples it is drawn from.
    """

    policy: ClassVar[Policy]

    replay_weight: float = 1.0
    replay_size: int | None = field(default=None, kw_only=True)
    weighting: Weighting = field(default="equal", kw_only=True)

    def __post_init__(self) -> None:
        check_replay(self.replay_weight, self.replay_size, self.weighting)

    def objective(self, update: Update) -> Objective:
        """Novelty samples and a fresh draw from the past."""
        replay = update.past.replay(self.policy, self.replay_size or update.capacity)
        stands_for = update.past.count() if self.weighting == "count" else None
        return replay_objective(update.novelty, replay, self.replay_weight, stands_for=stands_for)


@dataclass(frozen=True)
class WindowedReplay(RealReplay):
    """Abstract: replay from the windows of the last updates; older ones are no longer held.

    Args:
        replay_weight: λ_R, weight of the replayed samples' loss.
        recent_updates: N_R, how many update windows are kept.
        replay_size: S_R; None for the novelty capacity.
        weighting: See `RealReplay`.
    """

    access: ClassVar[Access] = Access.RECENT

    recent_updates: int = 5

    def __post_init__(self) -> None:
        super().__post_init__()
        require_whole(recent_updates=self.recent_updates)

    @property
    def window(self) -> int:
        """N_R closed windows are kept."""
        return self.recent_updates
