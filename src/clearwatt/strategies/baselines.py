"""Baselines: never train, train on novel samples only, train on everything."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from clearwatt.strategies.base import Access, Objective, Strategy, Update


@dataclass(frozen=True)
class Frozen(Strategy):
    """Baseline_L: the warm-up model, never updated; keeps no samples."""

    updates: ClassVar[bool] = False

    def objective(self, update: Update) -> Objective:
        """Never called: a frozen component has no updates."""
        return Objective(update.novelty)


@dataclass(frozen=True)
class FineTune(Strategy):
    """Trains on the novelty samples only: shows forgetting without an approach."""

    def objective(self, update: Update) -> Objective:
        """Novelty samples only."""
        return Objective(update.novelty)


@dataclass(frozen=True)
class Retrain(Strategy):
    """Trains on everything ever seen (Baseline_U, continued at each trigger); keeps all samples."""

    access: ClassVar[Access] = Access.ALL

    def objective(self, update: Update) -> Objective:
        """The whole history, with the samples since the last update."""
        everything = update.past.everything()
        return Objective(everything, replayed=everything.size - update.novelty.size)
