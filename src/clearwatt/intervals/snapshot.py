"""The quantiles of a calibrator at one moment, without the state that it learns with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from clearwatt.arrays import Float64Array, Int64Array
from clearwatt.errors import StateError
from clearwatt.intervals.cells import Indices, ResidualCells
from clearwatt.intervals.levels import LEARNED_LEVELS, LEVELS, checked_levels
from clearwatt.intervals.near_quantiles import NearQuantiles, interpolate_leads
from clearwatt.intervals.quantile_model import QuantileModel
from clearwatt.packing import verify_checksum, with_checksum


class MovedForecasts(NamedTuple):
    """Forecasts that know more than those for which quantiles were calibrated."""

    power: Float64Array
    """n x m."""
    spread: Float64Array
    """Usual error as a share of that of the calibrated forecasts, n x m; 1: the same forecasts."""
    ahead: Int64Array
    """Steps from the newest measurement that they know, n x m."""


@dataclass(frozen=True, eq=False)
class QuantileSnapshot:
    """Quantiles of `m` entities around any forecast; immutable.

    ``limits`` are 2 x m. ``near`` are the quantiles of the next hours; None: they are those of a
    day ahead, narrower by the spread.
    """

    cells: ResidualCells
    model: QuantileModel
    limits: Float64Array
    near: NearQuantiles | None = None

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
        model, cells, limits, near = self.model, self.cells, self.limits, self.near
        if columns is not None:
            model = QuantileModel(*(each[columns] for each in model))
            cells, limits = cells.select(columns), limits[:, columns]
            near = None if near is None else near.select(columns)
        wanted = checked_levels(levels)
        found = model.quantiles(forecasts, steps, cells=cells, levels=wanted, limits=limits)
        if moved is None:
            return found
        if near is None:
            return move_quantiles(found, forecasts, moved.power, moved.spread, limits)
        rows = (moved.spread != 1).any(axis=1)
        power = moved.power[rows]
        around = interpolate_leads(
            near.around(power, steps[rows], cells, wanted),
            found[rows] - forecasts[rows][..., None],
            moved.ahead[rows],
            leads=near.leads,
            horizon=near.horizon,
        )
        own = np.clip(power[..., None] + around, *limits[..., None])
        found[rows] = np.where(moved.spread[rows][..., None] == 1, found[rows], own)
        return found

    def pack(self) -> bytes:
        """The snapshot as bytes, in single precision, which is finer than any measurement."""
        arrays = {
            "lowest": self.cells.lowest,
            "height": self.cells.height,
            "limits": self.limits,
            **self.model._asdict(),
        }
        whole = {"clock": np.array([self.cells.day, self.cells.parts], np.int64)}
        if self.near is not None:
            arrays |= {f"near.{name}": each for name, each in _near_arrays(self.near).items()}
            whole["near.leads"] = np.array([*self.near.leads, self.near.horizon], np.int64)
        single = {name: np.ascontiguousarray(each, np.float32) for name, each in arrays.items()}
        return with_checksum(save({**single, **whole}))

    @classmethod
    def unpack(cls, content: bytes) -> QuantileSnapshot:
        """The opposite of `pack`; a StateError if the content is damaged."""
        try:
            arrays = load(verify_checksum(content))
            day, parts = arrays.pop("clock").tolist()
            leads = arrays.pop("near.leads", None)
            double = {name: each.astype(np.float64) for name, each in arrays.items()}
            near = None if leads is None else _read_near(leads.tolist(), double)
            cells = ResidualCells(day, parts, double.pop("lowest"), double.pop("height"))
            limits = double.pop("limits")
            snapshot = cls(cells, QuantileModel(**double), limits, near)
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
        for place, each in enumerate(() if self.near is None else self.near.models):
            for name, array in each._asdict().items():
                shapes[f"near.{name} at {place}"] = (array, getattr(model, name).shape)
        for name, (array, wanted) in shapes.items():
            if array.shape != wanted:
                raise ValueError(f"{name} has shape {array.shape}, not {wanted}")


def _near_arrays(near: NearQuantiles) -> dict[str, Float64Array]:
    """Arrays of the quantiles of the next hours, all leads together."""
    names = QuantileModel._fields
    stacked = {name: np.stack([getattr(each, name) for each in near.models]) for name in names}
    return {"logarithm": near.logarithm, **stacked}


def _read_near(leads: list[int], arrays: dict[str, Float64Array]) -> NearQuantiles:
    """The opposite of `_near_arrays`; takes its arrays away."""
    own = {name: arrays.pop(f"near.{name}") for name in ("logarithm", *QuantileModel._fields)}
    logarithm = own.pop("logarithm")
    models = tuple(
        QuantileModel(**{name: each[place] for name, each in own.items()})
        for place in range(len(leads) - 1)
    )
    return NearQuantiles(tuple(leads[:-1]), leads[-1], models, logarithm)


def move_quantiles(
    quantiles: Float64Array,
    forecasts: Float64Array,
    power: Float64Array,
    spread: Float64Array,
    limits: Float64Array,
) -> Float64Array:
    """Quantiles (n x m x levels) around other forecasts, within the limits.

    Args:
        quantiles: Around ``forecasts`` (n x m).
        forecasts: That the quantiles were given for.
        power: The other forecasts, n x m.
        spread: Usual error of these as a share of that of ``forecasts``, n x m.
        limits: Lowest and highest power, 2 x m.
    """
    around = power[..., None] + spread[..., None] * (quantiles - forecasts[..., None])
    # Only where something differs, so that the others keep every bit.
    return np.where(spread[..., None] == 1, quantiles, np.clip(around, *limits[..., None]))
