"""Bounded sample of the past beyond the last days, which prefers the recent."""

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
    so that the mean age settles at `memory` rows offered, however long the stream.

    Args:
        capacity: Rows held at most.
        memory: Rows offered until the chance to be still held has fallen to 1/e.
        at: Step of each row, `n`.
        seen: What the networks see of it, `n x v`.
        y: Measurements, `n x e`; NaN where there is none.
        novel: Whether the measurement was novel to the networks, `n x e`.
    """

    capacity: int
    memory: float
    at: Steps
    seen: Float32Array
    y: Float32Array
    novel: BoolArray

    @classmethod
    def empty(cls, capacity: int, *, memory: float, inputs: int, entities: int) -> Self:
        """A reservoir without rows."""
        return cls(
            capacity,
            memory,
            at=np.empty(0, np.int64),
            seen=np.empty((0, inputs), np.float32),
            y=np.empty((0, entities), np.float32),
            novel=np.empty((0, entities), np.bool_),
        )

    def __len__(self) -> int:
        return len(self.at)

    def offer(
        self,
        at: Steps,
        seen: Float32Array,
        y: Float32Array,
        novel: BoolArray,
        *,
        rng: np.random.Generator,
    ) -> Self:
        """The reservoir after rows were offered, in their order."""
        places = np.array([self._place(i, rng) for i in range(len(at))], dtype=np.int64)
        grown = max(len(self), int(places.max(initial=-1)) + 1)
        if not (places >= 0).any():
            return self
        return replace(
            self,
            at=_filled(self.at, at, places, size=grown),
            seen=_filled(self.seen, seen, places, size=grown),
            y=_filled(self.y, y, places, size=grown),
            novel=_filled(self.novel, novel, places, size=grown),
        )

    def joined(self, y: Float64Array) -> Self:
        """With the measurements, `n`, of one more entity."""
        column = y.astype(np.float32)[:, None]
        return replace(
            self,
            y=np.concatenate([self.y, column], axis=1),
            novel=np.concatenate([self.novel, np.zeros(column.shape, np.bool_)], axis=1),
        )

    def _place(self, number: int, rng: np.random.Generator) -> int:
        """Where the row offered `number`-th now goes; -1: nowhere."""
        if len(self) + number < self.capacity:
            return len(self) + number
        entry = min(1.0, self.capacity / self.memory)
        return int(rng.integers(self.capacity)) if rng.random() < entry else -1


def _filled(
    held: npt.NDArray[Value], offered: npt.NDArray[Value], places: Steps, *, size: int
) -> npt.NDArray[Value]:
    """The rows held with those offered in their places, later ones over earlier ones."""
    result = np.empty((size, *held.shape[1:]), held.dtype)
    result[: len(held)] = held
    for number, place in enumerate(places):
        if place >= 0:
            result[place] = offered[number]
    return result
