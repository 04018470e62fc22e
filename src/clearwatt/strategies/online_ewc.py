"""Online EWC: a penalty on changing important weights, with decaying importance."""

from __future__ import annotations

from dataclasses import dataclass

from clearwatt.strategies.base import (
    LARGEST_WEIGHT,
    Batch,
    Objective,
    State,
    Strategy,
    Update,
    WarmUpResult,
    require,
)
from clearwatt.training.fleet import Penalty
from clearwatt.training.networks import Params


@dataclass(frozen=True)
class OnlineEWC(Strategy):
    """Equation 1: the loss on the novelty samples plus λ/2 · Σ F* (θ - θ*)².

    Keeps no sample. The Fisher information F* represents the past; it is updated as γF* + F_new.

    Args:
        ewc_weight: λ, strength of the penalty.
        gamma: γ in [0, 1], how much of the accumulated importance survives an update.
    """

    ewc_weight: float = 5e4
    gamma: float = 0.9

    def __post_init__(self) -> None:
        check_ewc(self.ewc_weight, self.gamma)

    def initial_state(self, warmup: WarmUpResult) -> State:
        """The importance of the weights for the warm-up data."""
        return fisher_information(warmup, warmup.params, warmup.data)

    def objective(self, update: Update) -> Objective:
        """Novelty samples only, ewc_penalty at the deployed weights."""
        return Objective(update.novelty, penalty=ewc_penalty(update, self.ewc_weight))

    def consolidate(self, update: Update, params: Params) -> State:
        """F* <- γF* + F_new, with F_new from both buffers."""
        return decay_fisher(
            update, params, data=update.novelty + update.familiarity, gamma=self.gamma
        )


def check_ewc(ewc_weight: float, gamma: float) -> None:
    """Refuse invalid hyperparameters of the penalty."""
    require(
        0 <= ewc_weight <= LARGEST_WEIGHT,
        f"ewc_weight is {ewc_weight}; it must lie in [0, {LARGEST_WEIGHT:g}]",
    )
    require(0 <= gamma <= 1, f"gamma is {gamma}; the decay factor must lie in [0, 1]")


def ewc_penalty(update: Update, strength: float) -> Penalty:
    """The penalty on distance from the deployed weights, by accumulated importance."""
    return Penalty(anchor=update.params, importance=update.state, strength=strength)


def fisher_information(seen: WarmUpResult | Update, params: Params, data: Batch) -> State:
    """Diagonal Fisher information of `params` on the data: mean squared per-sample gradient."""
    targets = data.inputs if data.targets is None else data.targets
    return seen.network.fisher(params, data.inputs[None], targets[None])


def decay_fisher(update: Update, params: Params, *, data: Batch, gamma: float) -> State:
    """The accumulated importance after an update."""
    new = fisher_information(update, params, data)
    return {name: gamma * update.state[name] + new[name] for name in new}
