"""Bounded sample of the rows before the last days; recent rows are more likely to be in it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self, TypeVar

import numpy as np
import numpy.typing as npt

from clearwatt.arrays import BoolArray, Float32Array, Float64Array
from clearwatt.clock import Steps

Value = TypeVar("Value", bound=np.generic)


@dataclass(frozen=True, eq=False)
class Reservoir:
    """At most `capacity` rows; the chance that a row is still held falls exponentially with age.

    Once full, a row enters with a fixed probability in the place of a random one (Aggarwal 2006),
    so the mean age settles at `memory` rows offered, whatever the length of the stream.

    Args:
        capacity: Rows held at most.
        memory: Rows offered until the probability of still being held is 1/e.
        at: Step of each row, `n`.
        seen: What the networks see of it, `n x v`.
        lagged: Measurements before it that some networks see, too, `n x e x l`.
        y: Measurements, `n x e`; NaN where there is none.
        novel: Whether the measurement was novel to the networks, `n x e`.
    """

    capacity: int
    memory: float
    at: Steps
    seen: Float32Array
    lagged: Float32Array
    y: Float32Array
    novel: BoolArray

    @classmethod
    def empty(cls, capacity: int, *, memory: float, inputs: int, entities: int, lags: int) -> Self:
        """A reservoir without rows."""
        return cls(
            capacity,
            memory,
            at=np.empty(0, np.int64),
            seen=np.empty((0, inputs), np.float32),
            lagged=np.empty((0, entities, lags), np.float32),
            y=np.empty((0, entities), np.float32),
            novel=np.empty((0, entities), np.bool_),
        )

    def __len__(self) -> int:
        return len(self.at)

    def offer(
        self,
        at: Steps,
        *,
        seen: Float32Array,
        lagged: Float32Array,
        y: Float32Array,
        novel: BoolArray,
        rng: np.random.Generator,
    ) -> Self:
        """The reservoir after rows were offered, in their order."""
        rows, places = self._places(len(at), rng)
        if not len(rows):
            return self
        return replace(
            self,
            at=_fill(self.at, at[rows], places),
            seen=_fill(self.seen, seen[rows], places),
            lagged=_fill(self.lagged, lagged[rows], places),
            y=_fill(self.y, y[rows], places),
            novel=_fill(self.novel, novel[rows], places),
        )

    def add_entity(self, y: Float64Array, lagged: Float32Array) -> Self:
        """With the measurements of one more entity, `n`, and those before them, `n x 1 x l`."""
        column = y.astype(np.float32)[:, None]
        return replace(
            self,
            lagged=np.concatenate([self.lagged, lagged], axis=1),
            y=np.concatenate([self.y, column], axis=1),
            novel=np.concatenate([self.novel, np.zeros(column.shape, np.bool_)], axis=1),
        )

    def _places(self, offered: int, rng: np.random.Generator) -> tuple[Steps, Steps]:
        """Numbers of the offered rows that enter, and their places."""
        free = min(offered, self.capacity - len(self))
        entry = min(1.0, self.capacity / self.memory)
        # Two draws per row, so that it does not matter how rows are divided among calls.
        chance, place = rng.random((offered - free, 2)).T
        entering = np.flatnonzero(chance < entry)
        drawn = (self.capacity * place[entering]).astype(np.int64)
        return (
            np.concatenate([np.arange(free), free + entering]),
            np.concatenate([np.arange(len(self), len(self) + free), drawn]),
        )


def _fill(
    held: npt.NDArray[Value], offered: npt.NDArray[Value], places: Steps
) -> npt.NDArray[Value]:
    """The rows held with those offered in their places, later ones over earlier ones."""
    size = max(len(held), int(places.max()) + 1)
    result = np.empty((size, *held.shape[1:]), held.dtype)
    result[: len(held)] = held
    result[places] = offered
    return result
