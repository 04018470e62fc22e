"""Familiarity-based Replay: novel samples, with some familiar ones against forgetting."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from clearwatt.strategies.base import (
    Objective,
    State,
    Strategy,
    Update,
    WarmUpResult,
    Weighting,
    check_weighting,
    require,
)
from clearwatt.strategies.online_ewc import (
    Importance,
    check_ewc,
    decay_importance,
    ewc_penalty,
    find_importance,
)
from clearwatt.training.networks import Params


@dataclass(frozen=True)
class FamiliarityReplay(Strategy):
    """Equation 1 on the novelty samples and a random subset of the familiarity samples.

    The subset is bounded so that it cannot outweigh the novelty; the Fisher information takes in
    novelty samples only. Keeps no sample beyond the two buffers.

    Args:
        ewc_weight: λ, strength of the penalty.
        gamma: γ in [0, 1], how much of the accumulated importance survives an update.
        familiar_share: size of the subset relative to the number of novelty samples.
        weighting: "count": the subset weighs as much as all familiarity samples.
        importance: whose gradients are squared, see `OnlineEWC`.
    """

    ewc_weight: float = 5e4
    gamma: float = 0.9
    familiar_share: float = 0.5
    weighting: Weighting = "equal"
    importance: Importance = "samples"

    def __post_init__(self) -> None:
        check_ewc(self.ewc_weight, self.gamma, self.importance)
        check_weighting(self.weighting)
        require(
            0 < self.familiar_share <= 1,
            f"familiar_share is {self.familiar_share}; it must lie in (0, 1]",
        )

    def initial_state(self, warmup: WarmUpResult) -> State:
        """The importance of the weights for the warm-up data."""
        return find_importance(warmup, warmup.params, warmup.data, of=self.importance)

    def objective(self, update: Update) -> Objective:
        """Novelty and some familiarity samples, ewc_penalty at the deployed weights."""
        wanted = round(self.familiar_share * update.novelty.size)
        count = min(wanted, update.familiarity.size)
        chosen = update.rng.permutation(update.familiarity.size)[:count]
        familiar = update.familiarity.at(torch.from_numpy(chosen))
        weights = torch.ones(update.novelty.size + count)
        weights[update.novelty.size :] = update.familiarity.size / max(count, 1)
        return Objective(
            update.novelty + familiar,
            weights=weights / weights.mean() if self.weighting == "count" else None,
            penalty=ewc_penalty(update, self.ewc_weight),
            replayed=count,
        )

    def consolidate(self, update: Update, params: Params) -> State:
        """F* <- γF* + F_new, with F_new from the novelty samples."""
        new = find_importance(update, params, update.novelty, of=self.importance)
        return decay_importance(update, new, gamma=self.gamma)
