"""Quantiles of the hours for which newer measurements are known, by the distance to the newest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from clearwatt.arrays import Float64Array, Int64Array
from clearwatt.intervals.cells import Indices, ResidualCells
from clearwatt.intervals.quantile_model import QuantileModel


@dataclass(frozen=True, eq=False)
class NearQuantiles:
    """Quantiles of `m` entities at `b` leads; immutable.

    Args:
        leads: Steps from the newest measurement, ascending, `b`.
        horizon: Lead from which on the quantiles are those of a day ahead.
        models: Quantiles at each lead, `b`.
        logarithm: Of the factors on their width (`LeadScale`), `b x m`.
    """

    leads: tuple[int, ...]
    horizon: int
    models: tuple[QuantileModel, ...]
    logarithm: Float64Array

    def select(self, columns: Indices) -> Self:
        """Of some entities."""
        models = (QuantileModel(*(each[columns] for each in model)) for model in self.models)
        return replace(self, models=tuple(models), logarithm=self.logarithm[:, columns])

    def around(
        self, power: Float64Array, steps: Indices, cells: ResidualCells, levels: Float64Array
    ) -> Float64Array:
        """Quantiles less forecasts, `b x n x m x levels`, without limits."""
        none = np.full((2, power.shape[1]), np.inf) * np.array([[-1.0], [1.0]])
        found = [
            model.quantiles(power, steps, cells=cells, levels=levels, limits=none)
            for model in self.models
        ]
        factors = np.exp(self.logarithm)[:, None, :, None]
        return np.asarray(factors * (np.stack(found) - power[..., None]), np.float64)


def interpolate_leads(
    near: Float64Array,
    day_ahead: Float64Array,
    ahead: Int64Array,
    *,
    leads: Sequence[int],
    horizon: int,
) -> Float64Array:
    """Values at any leads, `n x m x levels`; before the first lead as there.

    Args:
        near: Values at the leads, `b x n x m x levels`.
        day_ahead: Values at the horizon, `n x m x levels`.
        ahead: Steps from the newest measurement, `n x m`.
        leads: Ascending, `b`.
        horizon: More than the last of them.
    """
    nodes = [*leads, horizon]
    found = np.zeros_like(day_ahead)
    for place, values in enumerate([*near, day_ahead]):
        column = np.eye(len(nodes))[place]
        share = np.interp(ahead, nodes, column)[..., None]
        found += np.where(share == 0, 0.0, share * values)  # where not given yet, values are NaN
    return found
