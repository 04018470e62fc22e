"""Online EWC: a penalty on changing important weights, with decaying importance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import torch

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

Importance = Literal["samples", "batches"]
"""Whose gradients are squared: those of single samples, or of batches of `BATCH`."""
BATCH = 64


@dataclass(frozen=True)
class OnlineEWC(Strategy):
    """Equation 1: the loss on the novelty samples plus λ/2 · Σ F* (θ - θ*)².

    Keeps no sample. The Fisher information F* represents the past; it is updated as γF* + F_new.

    Args:
        ewc_weight: λ, strength of the penalty.
        gamma: γ in [0, 1], how much of the accumulated importance survives an update.
        importance: "samples" is the Fisher information; "batches" squares the mean gradient of
            batches, which leaves more freedom to learn.
    """

    ewc_weight: float = 5e4
    gamma: float = 0.9
    importance: Importance = "samples"

    def __post_init__(self) -> None:
        check_ewc(self.ewc_weight, self.gamma, self.importance)

    def initial_state(self, warmup: WarmUpResult) -> State:
        """The importance of the weights for the warm-up data."""
        return find_importance(warmup, warmup.params, warmup.data, of=self.importance)

    def objective(self, update: Update) -> Objective:
        """Novelty samples only, ewc_penalty at the deployed weights."""
        return Objective(update.novelty, penalty=ewc_penalty(update, self.ewc_weight))

    def consolidate(self, update: Update, params: Params) -> State:
        """F* <- γF* + F_new, with F_new from both buffers."""
        data = update.novelty + update.familiarity
        new = find_importance(update, params, data, of=self.importance)
        return decay_importance(update, new, gamma=self.gamma)


def check_ewc(ewc_weight: float, gamma: float, importance: Importance) -> None:
    """Refuse invalid hyperparameters of the penalty."""
    require(
        0 <= ewc_weight <= LARGEST_WEIGHT,
        f"ewc_weight is {ewc_weight}; it must lie in [0, {LARGEST_WEIGHT:g}]",
    )
    require(0 <= gamma <= 1, f"gamma is {gamma}; the decay factor must lie in [0, 1]")
    require(
        importance in get_args(Importance),
        f"importance is {importance!r}; choose one of {', '.join(get_args(Importance))}",
    )


def ewc_penalty(update: Update, strength: float) -> Penalty:
    """The penalty on distance from the deployed weights, by accumulated importance."""
    return Penalty(anchor=update.params, importance=update.state, strength=strength)


def find_importance(
    seen: WarmUpResult | Update, params: Params, data: Batch, *, of: Importance
) -> State:
    """The importance of each weight on the data."""
    return (
        fisher_information(seen, params, data) if of == "samples" else _squares(seen, params, data)
    )


def fisher_information(seen: WarmUpResult | Update, params: Params, data: Batch) -> State:
    """Diagonal Fisher information of `params` on the data: mean squared per-sample gradient."""
    targets = data.inputs if data.targets is None else data.targets
    return seen.network.fisher(params, data.inputs[None], targets[None])


def _squares(seen: WarmUpResult | Update, params: Params, data: Batch) -> State:
    """The mean over batches of the squared gradient of a batch's mean loss."""
    targets = data.inputs if data.targets is None else data.targets
    sums = {name: torch.zeros_like(tensor) for name, tensor in params.items()}
    batches = [slice(start, start + BATCH) for start in range(0, data.size, BATCH)]
    if len(batches) > 1 and data.size % BATCH:
        del batches[-1]  # a smaller batch has larger gradients
    for rows in batches:
        x, target = data.inputs[None, rows], targets[None, rows]
        coefficients = x.new_full(x.shape[:2], 1 / x.shape[1])
        _, gradients = seen.network.gradients(params, x, target, coefficients=coefficients)
        for name, gradient in gradients.items():
            sums[name] += gradient.square()
    return {name: total / len(batches) for name, total in sums.items()}


def decay_importance(update: Update, new: State, *, gamma: float) -> State:
    """The accumulated importance after an update."""
    return {name: gamma * update.state[name] + new[name] for name in new}
