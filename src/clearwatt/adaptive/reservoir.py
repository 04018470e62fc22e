"""What is kept of the past beyond the last days: a bounded sample that prefers the recent."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import numpy.typing as npt

from clearwatt.arrays import Float32Array
from clearwatt.errors import require_whole

Steps = npt.NDArray[np.int64]
Value = TypeVar("Value", bound=np.generic)


class Reservoir:
    """At most `capacity` rows; the chance that a row is still held falls exponentially with age.

    Once full, a row enters with a fixed probability in the place of a random one (Aggarwal 2006),
    so that the mean age settles at `memory` rows offered, however long the stream.

    Args:
        capacity: Rows held at most.
        memory: Rows offered until the chance to be still held has fallen to 1/e.
        inputs: Width `d` of a row's inputs.
        entities: Measurements `e` of a row.
    """

    def __init__(self, capacity: int, *, memory: float, inputs: int, entities: int) -> None:
        require_whole(capacity=capacity)
        self.capacity = capacity
        self.entry = min(1.0, capacity / memory)
        self.at: Steps = np.empty(0, np.int64)
        self.x: Float32Array = np.empty((0, inputs), np.float32)
        self.y: Float32Array = np.empty((0, entities), np.float32)

    def __len__(self) -> int:
        return len(self.at)

    def offer(
        self, at: Steps, x: Float32Array, y: Float32Array, *, rng: np.random.Generator
    ) -> None:
        """Take rows in, in their order: steps `n`, inputs `n x d`, measurements `n x e`."""
        places = np.array([self._place(i, rng) for i in range(len(at))], dtype=np.int64)
        grown = max(len(self), int(places.max(initial=-1)) + 1)
        self.at = _filled(self.at, at, places, size=grown)
        self.x = _filled(self.x, x, places, size=grown)
        self.y = _filled(self.y, y, places, size=grown)

    def _place(self, number: int, rng: np.random.Generator) -> int:
        """Where the row offered `number`-th now goes; -1: nowhere."""
        if len(self) + number < self.capacity:
            return len(self) + number
        return int(rng.integers(self.capacity)) if rng.random() < self.entry else -1


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
