"""What the search for changes remembers of each entity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from clearwatt.arrays import BoolArray, Float64Array, Int64Array
from clearwatt.clock import Steps

RUNS = -1
"""In place of a step: the entity does not stand still."""
HALF_LIFE = 90.0
"""Days after which the factor of a day counts half."""
HABIT_DAYS = 14
"""Days whose factors are compared by weekday."""
LEAST_DAYS = 14.0
"""Days that must have been observed to know how much the factor of a day varies."""


@dataclass(frozen=True, eq=False)
class ChangeWatch:
    """What is remembered of each of `e` entities.

    Args:
        examined: Readings from this step on may be found to be a change.
        standing: First step of a standstill that goes on; `RUNS`: there is none.
        squares: Sum of the squared logarithms of measured by forecast power of past days, weighed
            by the forecast; forgotten with a half-life.
        weights: Sum of these weights.
        days: Number of days in the sums.
        logs: The logarithms of the last `HABIT_DAYS` days, `e x HABIT_DAYS`, the newest last; NaN:
            not known, or of before a change.
        logged: Number of the newest of these days.
    """

    examined: Int64Array
    standing: Int64Array
    squares: Float64Array
    weights: Float64Array
    days: Float64Array
    logs: Float64Array
    logged: Int64Array

    @classmethod
    def begin(cls, entities: int) -> Self:
        """Nothing has been observed yet."""
        zero = np.zeros(entities)
        none = np.full(entities, RUNS, np.int64)
        logs = np.full((entities, HABIT_DAYS), np.nan)
        return cls(np.zeros(entities, np.int64), none, zero, zero, zero, logs, none)

    @property
    def spread(self) -> Float64Array:
        """Deviation of the logarithm of a day's factor, `e`; infinity: not known yet."""
        known = (self.days >= LEAST_DAYS) & (self.weights > 0)
        squares = self.squares / np.where(known, self.weights, 1.0)
        return np.where(known, np.sqrt(squares), np.inf)

    @property
    def standing_places(self) -> list[int]:
        """Places of the entities that stand still."""
        places: list[int] = (self.standing != RUNS).nonzero()[0].tolist()
        return places

    def is_examined(self, place: int, before: int) -> bool:
        """Whether an entity runs and has readings before a step that may be a change."""
        return bool(self.standing[place] == RUNS and self.examined[place] < before)

    def observe(self, logs: Float64Array, weights: Float64Array) -> Self:
        """After a day with these logarithms of the factor and weights, `e`; NaN: not measured."""
        known, fade = np.isfinite(logs), 0.5 ** (1 / HALF_LIFE)
        weights = np.where(known, weights, 0.0)
        squares = np.where(known, np.square(logs), 0.0) * weights
        return replace(
            self,
            squares=fade * self.squares + squares,
            weights=fade * self.weights + weights,
            days=fade * self.days + known,
        )

    def log_day(self, number: int, logs: Float64Array) -> Self:
        """After the day of this number with these logarithms of the factor, `e`."""
        held = np.concatenate([self.logs[:, 1:], logs[:, None]], axis=1)
        passed = number - self.logged
        for place in (passed != 1).nonzero()[0].tolist():  # days without any reading
            days = min(max(int(passed[place]), 0), HABIT_DAYS)
            held[place] = np.nan
            held[place, : HABIT_DAYS - days] = self.logs[place, days:]
            held[place, -1] = logs[place]
        return replace(self, logs=held, logged=np.full(passed.shape, number))

    def standing_at(self, at: Steps) -> BoolArray:
        """Which readings, `n x e`, belong to a standstill that goes on."""
        return np.asarray((self.standing != RUNS) & (at[:, None] >= self.standing), np.bool_)

    def examine_from(self, place: int, step: int) -> Self:
        """An entity is examined from another step on; its days before are not compared."""
        examined = self.examined.copy()
        examined[place] = step
        logs = self.logs.copy()
        logs[place] = np.nan
        return replace(self, examined=examined, logs=logs)

    def stand(self, place: int, since: int) -> Self:
        """An entity stands still since a step; `RUNS`: it runs again."""
        standing = self.standing.copy()
        standing[place] = since
        return replace(self, standing=standing)

    def select(self, places: Sequence[int]) -> Self:
        """Of the entities at some places."""
        return type(self)(**{name: each[list(places)] for name, each in vars(self).items()})

    def add_entities(self, entities: int) -> Self:
        """With further entities."""
        more = vars(self.begin(entities))
        return type(self)(
            **{name: np.concatenate([each, more[name]]) for name, each in vars(self).items()}
        )
