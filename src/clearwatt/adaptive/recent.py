"""The last days, row by row: inputs, measurements, and the forecasts as they were issued.

These arrays are most of the memory of a meter. A row holds only what is needed as long as the row
is; values that are needed until a measurement is learned are in `unlearned`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from clearwatt.arrays import BoolArray, Float32Array, Float64Array, Int64Array, nan_array
from clearwatt.clock import Steps


class LagRows(NamedTuple):
    """What forecasts need of the last days: `n` rows in order of time."""

    at: Steps
    """Step, `n`."""
    x: Float64Array
    """Inputs, `n x d`."""
    slow: Float64Array
    """The networks' mean forecast as issued, `n x e`."""
    measured: Float64Array
    """Measurements, `n x e`; NaN where there is none."""

    def select(self, places: Sequence[int]) -> LagRows:
        """The rows of the entities at some places."""
        own = list(places)
        return self._replace(slow=self.slow[:, own], measured=self.measured[:, own])

    def part(self, rows: slice) -> LagRows:
        """Some of the rows, not copied."""
        return LagRows._make(column[rows] for column in self)

    def add_rows(self, rows: LagRows) -> LagRows:
        """These rows, then later ones."""
        return LagRows._make(np.concatenate(pair) for pair in zip(self, rows, strict=True))


class RecentRows(NamedTuple):
    """Rows in order of time, immutable: every change gives new rows.

    `v` is the number of columns that the networks see. Powers are in units of the entity's
    deviation. A row that was not recalled has NaN in place of its forecasts.
    """

    at: Steps
    """Step, `n`."""
    x: Float64Array
    """Inputs, `n x d`."""
    seen: Float32Array
    """Inputs as the networks see them, `n x v`."""
    lagged: Float32Array
    """Past measurements that some networks see, `n x e x l`."""
    slow: Float64Array
    """The networks' mean forecast as issued, `n x e`."""
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
    def blank(cls, rows: int, *, inputs: int, seen: int, entities: int, lags: int) -> RecentRows:
        """Rows of these widths without content."""
        nan = np.nan
        return cls(
            at=np.zeros(rows, np.int64),
            x=np.full((rows, inputs), nan),
            seen=np.full((rows, seen), nan, np.float32),
            lagged=np.zeros((rows, entities, lags), np.float32),
            slow=np.full((rows, entities), nan),
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
    def measured_rows(self) -> Int64Array:
        """Positions of rows with a measurement of at least one entity."""
        return np.flatnonzero(np.isfinite(self.measured).any(axis=1))

    def pick(self, rows: slice | BoolArray | Int64Array) -> RecentRows:
        """Some of the rows."""
        return RecentRows._make(part[rows] for part in self.columns)

    def fresh(self, at: Steps, x: Float64Array, measured: Float64Array) -> RecentRows:
        """New rows of the same widths, not recalled yet."""
        rows, entities = measured.shape
        slow, seen = nan_array(rows, entities), nan_array(rows, self.seen.shape[1])
        none = np.zeros((rows, entities), np.bool_)
        return RecentRows(
            at=at,
            x=x,
            seen=seen.astype(np.float32),
            lagged=np.zeros((rows, entities, self.lagged.shape[2]), np.float32),
            slow=slow,
            power=slow,
            measured=measured,
            learned=none,
            novel=none,
            recalled=np.zeros(rows, np.bool_),
        )

    @property
    def lags(self) -> LagRows:
        """What forecasts need of them, not copied."""
        return LagRows(self.at, self.x, self.slow, self.measured)

    def add_rows(self, rows: RecentRows) -> RecentRows:
        """These rows and others, of other steps, in order of time."""
        pairs = zip(self.columns, rows.columns, strict=True)
        both = RecentRows._make(np.concatenate(pair) for pair in pairs)
        if not self.size or not rows.size or rows.at[0] > self.at[-1]:
            return both
        return both.pick(np.argsort(both.at))

    def replace_values(self, places: Int64Array, **columns: npt.NDArray[Any]) -> RecentRows:
        """Other values at some positions."""
        changed: dict[str, npt.NDArray[Any]] = {}
        for name, values in columns.items():
            changed[name] = getattr(self, name).copy()
            changed[name][places] = values
        return self._replace(**changed)

    def places(self, at: Steps) -> tuple[Int64Array, BoolArray]:
        """Position of each step, `n`, and whether it is there, `n`."""
        return places_of(at, self.at)


def places_of(at: Steps, held: Steps) -> tuple[Int64Array, BoolArray]:
    """Position of each step, `n`, among those held, ascending, and whether it is there, `n`."""
    if not len(held):
        return np.zeros(at.shape, np.int64), np.zeros(at.shape, np.bool_)
    places = np.minimum(held.searchsorted(at), len(held) - 1)
    return places, held[places] == at
