"""The last days, step by step: what was seen, what was issued, what was measured."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from clearwatt.arrays import Float64Array
from clearwatt.errors import DataError

Steps = npt.NDArray[np.int64]


class Entries(NamedTuple):
    """Rows of the journal, by step; `k` is the number of experts, the first `g` of them slow."""

    at: Steps
    """Step, `n`."""
    x: Float64Array
    """Inputs, `n x d`."""
    seen: npt.NDArray[np.float32]
    """What the networks saw of them, `n x v`."""
    slow: Float64Array
    """The slow forecast as issued, `n x e`; NaN where none was."""
    terms: Float64Array
    """What the corrections explained the residual with, `n x e x p`."""
    experts: Float64Array
    """The experts' forecasts as issued, `n x e x k`; NaN where none were."""
    issued: Float64Array
    """The forecast as issued, `n x e`; NaN where none was."""
    measured: Float64Array
    """Measurements, `n x e`; NaN where there is none (yet)."""
    learned: npt.NDArray[np.bool_]
    """Whether the fast part has learned from them, `n x e`."""

    @classmethod
    def blank(cls, *, inputs: int, seen: int, entities: int, terms: int, experts: int) -> Entries:
        """Columns of these widths without rows."""
        return cls(
            at=np.empty(0, np.int64),
            x=np.empty((0, inputs)),
            seen=np.empty((0, seen), np.float32),
            slow=np.empty((0, entities)),
            terms=np.empty((0, entities, terms)),
            experts=np.empty((0, entities, experts)),
            issued=np.empty((0, entities)),
            measured=np.empty((0, entities)),
            learned=np.empty((0, entities), np.bool_),
        )

    def pick(self, rows: slice | npt.NDArray[np.bool_] | npt.NDArray[np.int64]) -> Entries:
        """Some of the rows."""
        return Entries._make(part[rows] for part in self.columns)

    @property
    def columns(self) -> tuple[npt.NDArray[Any], ...]:
        """The columns as arrays of any kind, which a checker need not join to one."""
        return self

    @property
    def measured_at_all(self) -> Entries:
        """Those with a measurement of some entity."""
        return self.pick(np.flatnonzero(np.isfinite(self.measured).any(axis=1)))

    @property
    def size(self) -> int:
        """Number of rows `n`."""
        return len(self.at)


class Journal:
    """Entries of the recent past and of forecasts still waiting for their measurement."""

    def __init__(self, entries: Entries) -> None:
        self.entries = entries

    def write(self, entries: Entries) -> None:
        """Add entries; of a step that is there already only the measurement stays."""
        held = self.entries
        new = entries.at > (held.at[-1] if held.size else -1)
        if not new.all():
            places, known = self._places(entries.at)
            entries.measured[known] = held.measured[places[known]]
            held = held.pick(~np.isin(held.at, entries.at))
        pairs = zip(held.columns, entries.columns, strict=True)
        joined = Entries._make(np.concatenate(pair) for pair in pairs)
        self.entries = joined if new.all() else joined.pick(np.argsort(joined.at))

    def measure(self, measured: Float64Array, at: Steps) -> None:
        """Note measurements `n x e` of steps that were forecast; NaN leaves what is there."""
        places, known = self._places(at)
        if not known.all():
            raise DataError(
                f"step {int(at[~known][0])} was never forecast or lies too far back; "
                "forecast every step before its measurement is observed"
            )
        old = self.entries.measured[places]
        self.entries.measured[places] = np.where(np.isfinite(measured), measured, old)

    def between(self, start: int, stop: int) -> Entries:
        """Entries of the steps from `start` to before `stop`."""
        low, high = np.searchsorted(self.entries.at, [start, stop])
        return self.entries.pick(slice(int(low), int(high)))

    def retire(self, before: int) -> Entries:
        """Take out what is older than a step."""
        cut = int(np.searchsorted(self.entries.at, before))
        old = self.entries.pick(slice(0, cut))
        self.entries = Entries._make(part[cut:].copy() for part in self.entries.columns)
        return old

    def past(self, values: Float64Array, at: Steps) -> Float64Array:
        """Of one column, the values at other steps, `n x e`; NaN where there is no entry."""
        places, known = self._places(at)
        found = np.full((len(at), values.shape[1]), np.nan)
        found[known] = values[places[known]]
        return found

    def _places(self, at: Steps) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
        held = self.entries.at
        if not len(held):
            return np.zeros(len(at), np.int64), np.zeros(len(at), np.bool_)
        places = np.minimum(np.searchsorted(held, at), len(held) - 1)
        return places, held[places] == at
