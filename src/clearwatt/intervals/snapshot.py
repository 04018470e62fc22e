"""The quantiles of a calibrator at one moment, without the state that it learns with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from clearwatt.arrays import Float64Array
from clearwatt.errors import StateError
from clearwatt.intervals.cells import Indices, ResidualCells
from clearwatt.intervals.levels import LEARNED_LEVELS, LEVELS, checked_levels
from clearwatt.intervals.quantile_model import QuantileModel
from clearwatt.packing import verify_checksum, with_checksum


class MovedForecasts(NamedTuple):
    """Forecasts that know more than those for which quantiles were calibrated."""

    power: Float64Array
    """n x m."""
    spread: Float64Array
    """Usual error as a share of that of the calibrated forecasts, n x m; 1: the same forecasts."""


@dataclass(frozen=True, eq=False)
class QuantileSnapshot:
    """Quantiles of `m` entities around any forecast; immutable. ``limits`` are 2 x m."""

    cells: ResidualCells
    model: QuantileModel
    limits: Float64Array

    def quantiles(
        self,
        forecasts: Float64Array,
        steps: Indices,
        levels: Sequence[float] | Float64Array = LEVELS,
        *,
        columns: Indices | None = None,
        moved: MovedForecasts | None = None,
    ) -> Float64Array:
        """Quantiles (n x m x levels) around forecasts of later rows.

        They ascend with their levels and stay within the limits.

        Args:
            forecasts: n x m, or n x columns.
            steps: Step of each row, n.
            levels: Ascending, between 0 and 1.
            columns: Of the entities that are forecast; None: all.
            moved: Forecasts that the quantiles shall lie around instead, narrower or wider.
        """
        model, cells, limits = self.model, self.cells, self.limits
        if columns is not None:
            model = QuantileModel(*(each[columns] for each in model))
            cells, limits = cells.select(columns), limits[:, columns]
        found = model.quantiles(
            forecasts, steps, cells=cells, levels=checked_levels(levels), limits=limits
        )
        return found if moved is None else _move(found, forecasts, moved, limits)

    def pack(self) -> bytes:
        """The snapshot as bytes, in single precision, which is finer than any measurement."""
        arrays = {
            "lowest": self.cells.lowest,
            "height": self.cells.height,
            "limits": self.limits,
            **self.model._asdict(),
        }
        single = {name: np.ascontiguousarray(each, np.float32) for name, each in arrays.items()}
        clock = np.array([self.cells.day, self.cells.parts], np.int64)
        return with_checksum(save({**single, "clock": clock}))

    @classmethod
    def unpack(cls, content: bytes) -> QuantileSnapshot:
        """The opposite of `pack`; a StateError if the content is damaged."""
        try:
            arrays = load(verify_checksum(content))
            day, parts = arrays.pop("clock").tolist()
            double = {name: each.astype(np.float64) for name, each in arrays.items()}
            cells = ResidualCells(day, parts, double.pop("lowest"), double.pop("height"))
            snapshot = cls(cells, limits=double.pop("limits"), model=QuantileModel(**double))
            snapshot._check()
            return snapshot
        except (SafetensorError, KeyError, TypeError, ValueError) as error:
            raise StateError(f"intervals cannot be read ({error!r})") from error

    def _check(self) -> None:
        """Refuse shapes of another release, which numpy might broadcast."""
        m, model = len(self.cells.lowest), self.model
        cells = (m, self.cells.count)
        shapes = {
            "limits": (self.limits, (2, m)),
            "height": (self.cells.height, (m,)),
            **{name: (getattr(model, name), cells) for name in ("location", "scale")},
            **{name: (getattr(model, name), (m,)) for name in ("bias", "size", "wide")},
            "table": (model.table, (m, len(LEARNED_LEVELS))),
        }
        for name, (array, wanted) in shapes.items():
            if array.shape != wanted:
                raise ValueError(f"{name} has shape {array.shape}, not {wanted}")


def _move(
    quantiles: Float64Array, forecasts: Float64Array, moved: MovedForecasts, limits: Float64Array
) -> Float64Array:
    """Quantiles (n x m x levels) around other forecasts, within the limits."""
    power, spread = moved.power[..., None], moved.spread[..., None]
    around = power + spread * (quantiles - forecasts[..., None])
    # Only where something differs, so that the others keep every bit.
    return np.where(spread == 1, quantiles, np.clip(around, *limits[..., None]))
