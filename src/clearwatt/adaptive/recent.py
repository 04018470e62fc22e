"""The last days, row by row: inputs, measurements, and the forecasts as they were issued."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from clearwatt.arrays import BoolArray, Float32Array, Float64Array
from clearwatt.clock import Steps

Places = npt.NDArray[np.int64]


class RecentRows(NamedTuple):
    """Rows in order of time, immutable: every change gives new rows.

    `k` is the number of experts, `p` of terms, `v` of columns that the networks see. Powers are in
    units of the entity's deviation. A row that was not recalled has NaN in place of its forecasts.
    """

    at: Steps
    """Step, `n`."""
    x: Float64Array
    """Inputs, `n x d`."""
    seen: Float32Array
    """Inputs as the networks see them, `n x v`."""
    slow: Float64Array
    """The networks' mean forecast as issued, `n x e`."""
    terms: Float64Array
    """Terms of the corrections as issued, `n x e x p`."""
    experts: Float64Array
    """The experts' forecasts as issued, `n x e x k`."""
    power: Float64Array
    """The forecast as issued, `n x e`."""
    measured: Float64Array
    """Measurements, `n x e`; NaN where there is none (yet)."""
    learned: BoolArray
    """Whether corrections and trust have learned from the measurement, `n x e`."""
    novel: BoolArray
    """Whether the measurement was novel to the networks, `n x e`."""
    recalled: BoolArray
    """Whether the forecasts as issued have been computed, `n`."""

    @classmethod
    def blank(
        cls, rows: int, *, inputs: int, seen: int, entities: int, terms: int, experts: int
    ) -> RecentRows:
        """Rows of these widths without content."""
        nan = np.nan
        return cls(
            at=np.zeros(rows, np.int64),
            x=np.full((rows, inputs), nan),
            seen=np.full((rows, seen), nan, np.float32),
            slow=np.full((rows, entities), nan),
            terms=np.full((rows, entities, terms), nan),
            experts=np.full((rows, entities, experts), nan),
            power=np.full((rows, entities), nan),
            measured=np.full((rows, entities), nan),
            learned=np.zeros((rows, entities), np.bool_),
            novel=np.zeros((rows, entities), np.bool_),
            recalled=np.zeros(rows, np.bool_),
        )

    @property
    def size(self) -> int:
        """Number of rows `n`."""
        return len(self.at)

    @property
    def columns(self) -> tuple[npt.NDArray[Any], ...]:
        """The columns as arrays of any type."""
        return self

    @property
    def measured_rows(self) -> Places:
        """Positions of rows with a measurement of at least one entity."""
        return np.flatnonzero(np.isfinite(self.measured).any(axis=1))

    def pick(self, rows: slice | BoolArray | Places) -> RecentRows:
        """Some of the rows."""
        return RecentRows._make(part[rows] for part in self.columns)

    def fresh(self, at: Steps, x: Float64Array, measured: Float64Array) -> RecentRows:
        """New rows of the same widths, not recalled yet."""
        blank = self.blank(
            len(at),
            inputs=self.x.shape[1],
            seen=self.seen.shape[1],
            entities=self.slow.shape[1],
            terms=self.terms.shape[2],
            experts=self.experts.shape[2],
        )
        return blank._replace(at=at, x=x, measured=measured)

    def only(self, places: Sequence[int]) -> RecentRows:
        """The rows of the entities at some places."""
        shared = ("at", "x", "seen", "recalled")
        return self._replace(
            **{name: getattr(self, name)[:, places] for name in self._fields if name not in shared}
        )

    def slim(self) -> RecentRows:
        """Only what forecasts need: steps, inputs, measurements, the networks' forecasts."""
        rows, entities = self.slow.shape
        none = np.empty((rows, entities, 0))
        seen = np.empty((rows, 0), np.float32)
        return self._replace(seen=seen, terms=none, experts=none)

    def joined(self, rows: RecentRows) -> RecentRows:
        """These rows and others, of other steps, in order of time."""
        pairs = zip(self.columns, rows.columns, strict=True)
        both = RecentRows._make(np.concatenate(pair) for pair in pairs)
        if not self.size or not rows.size or rows.at[0] > self.at[-1]:
            return both
        return both.pick(np.argsort(both.at))

    def replaced(self, places: Places, **columns: npt.NDArray[Any]) -> RecentRows:
        """Other values at some positions."""
        changed: dict[str, npt.NDArray[Any]] = {}
        for name, values in columns.items():
            changed[name] = getattr(self, name).copy()
            changed[name][places] = values
        return self._replace(**changed)

    def places(self, at: Steps) -> tuple[Places, BoolArray]:
        """Position of each step, `n`, and whether it is there, `n`."""
        if not self.size:
            return np.zeros(len(at), np.int64), np.zeros(len(at), np.bool_)
        places = np.minimum(np.searchsorted(self.at, at), self.size - 1)
        return places, self.at[places] == at
