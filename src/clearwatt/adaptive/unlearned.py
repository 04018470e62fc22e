"""Forecasts as issued, with all their parts, held until their measurements are learned."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clearwatt.adaptive.recent import RecentRows, places_of
from clearwatt.arrays import Float64Array, Int64Array, nan_array
from clearwatt.clock import Steps


class UnlearnedForecasts(NamedTuple):
    """The inputs of corrections and trust for `c` pairs of a step and an entity.

    Most are learned within a period; those that stay wait for a late measurement. `p` is the number
    of terms, `k` of experts.
    """

    at: Steps
    """Step, `c`."""
    place: Int64Array
    """Column of the entity, `c`."""
    terms: Float64Array
    """Terms of the corrections, `c x p`."""
    experts: Float64Array
    """The experts' forecasts, `c x k`."""

    @classmethod
    def empty(cls, *, terms: int, experts: int) -> UnlearnedForecasts:
        """No forecasts."""
        none = np.empty(0, np.int64)
        return cls(none, none, np.empty((0, terms)), np.empty((0, experts)))

    def added(self, at: Steps, terms: Float64Array, experts: Float64Array) -> UnlearnedForecasts:
        """With the forecasts of further steps, `n x e x p` and `n x e x k`."""
        rows, entities = terms.shape[:2]
        return UnlearnedForecasts(
            np.concatenate([self.at, np.repeat(at, entities)]),
            np.concatenate([self.place, np.arange(rows * entities) % entities]),
            np.concatenate([self.terms, terms.reshape(-1, terms.shape[2])]),
            np.concatenate([self.experts, experts.reshape(-1, experts.shape[2])]),
        )

    def of_steps(self, at: Steps, entities: int) -> tuple[Float64Array, Float64Array]:
        """Terms, `n x e x p`, and experts, `n x e x k`, of steps; NaN where there are none."""
        rows, own = places_of(self.at, at)
        cells = rows[own], self.place[own]
        terms = nan_array(len(at), entities, self.terms.shape[1])
        experts = nan_array(len(at), entities, self.experts.shape[1])
        terms[cells], experts[cells] = self.terms[own], self.experts[own]
        return terms, experts

    def still_open(self, recent: RecentRows) -> UnlearnedForecasts:
        """Without those whose measurement is learned, or whose row is no longer held."""
        rows, there = recent.places(self.at)
        left = there if not recent.size else there & ~recent.learned[rows, self.place]
        return UnlearnedForecasts._make(column[left] for column in self)
