"""What a calibrator says now, without what it learns with: small, and it never changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from clearwatt.arrays import Float64Array
from clearwatt.errors import StateError
from clearwatt.intervals.card import Card
from clearwatt.intervals.cells import Cells, Places
from clearwatt.intervals.levels import KNOTS, LEVELS, checked_levels


@dataclass(frozen=True, eq=False)
class Sheet:
    """Quantiles of entities (m) around any forecast of theirs; ``limits`` are 2 x m."""

    cells: Cells
    card: Card
    limits: Float64Array

    def quantiles(
        self,
        forecasts: Float64Array,
        steps: Places,
        levels: Sequence[float] | Float64Array = LEVELS,
        *,
        columns: Places | None = None,
    ) -> Float64Array:
        """Quantiles (n x m x levels) around forecasts of rows to come.

        They ascend with their levels and stay within the limits.

        Args:
            forecasts: n x m, or n x the columns.
            steps: absolute number of each row, n.
            levels: ascending, between 0 and 1.
            columns: which entities; None: all.
        """
        card, cells, limits = self.card, self.cells, self.limits
        if columns is not None:
            card = Card(*(each[columns] for each in card))
            cells, limits = cells.of(columns), limits[:, columns]
        said = card.quantiles(forecasts, steps, cells=cells, levels=checked_levels(levels))
        return within(said, limits)

    def pack(self) -> bytes:
        """As bytes, in single precision: what is lost is far below what can be measured."""
        arrays = {
            "lowest": self.cells.lowest,
            "height": self.cells.height,
            "limits": self.limits,
            **self.card._asdict(),
        }
        single = {name: np.ascontiguousarray(each, np.float32) for name, each in arrays.items()}
        clock = np.array([self.cells.day, self.cells.parts], np.int64)
        return save({**single, "clock": clock})

    @classmethod
    def unpack(cls, content: bytes) -> Sheet:
        """Back from `pack`; StateError if it is not whole."""
        try:
            arrays = load(content)
            day, parts = arrays.pop("clock").tolist()
            double = {name: each.astype(np.float64) for name, each in arrays.items()}
            cells = Cells(day, parts, double.pop("lowest"), double.pop("height"))
            sheet = cls(cells, limits=double.pop("limits"), card=Card(**double))
            sheet._check()
            return sheet
        except (SafetensorError, KeyError, TypeError, ValueError) as error:
            raise StateError(f"intervals cannot be read ({error!r})") from error

    def _check(self) -> None:
        """Refuse one of another release: numpy would make something of most shapes."""
        m, card = len(self.cells.lowest), self.card
        shapes = {
            "limits": (self.limits, (2, m)),
            "height": (self.cells.height, (m,)),
            **{
                name: (getattr(card, name), (m, self.cells.count)) for name in ("location", "scale")
            },
            **{name: (getattr(card, name), (m,)) for name in ("bias", "size", "wide")},
            "table": (card.table, (m, len(KNOTS))),
        }
        for name, (array, wanted) in shapes.items():
            if array.shape != wanted:
                raise ValueError(f"{name} has shape {array.shape}, not {wanted}")


def within(quantiles: Float64Array, limits: Float64Array) -> Float64Array:
    """Quantiles (n x m x levels) clipped to limits (2 x m)."""
    return np.clip(quantiles, limits[0, :, None], limits[1, :, None], out=quantiles)
