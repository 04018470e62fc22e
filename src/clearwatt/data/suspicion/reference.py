"""What a meter should read by weather and hour: a ridge regression per entity, from trusted days.

Its state is bounded: sums that forget. It knows nothing of the models in service, so what these
learn from a lying meter does not make the lie look right.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from clearwatt.arrays import BoolArray, Float32Array, Float64Array, Int64Array
from clearwatt.clock import DAYS_PER_WEEK, SECONDS_PER_DAY
from clearwatt.data.inputs import CALENDAR_COLUMNS, is_neighbour

HALF_LIFE_DAYS = 30
FEWEST_DAYS = 14
"""Days learned from before there is an expectation."""
MOST_VARIABLES = 16
"""Weather variables used; bounds the state."""
_RIDGE = 1.0
_HARMONICS = (1, 2, 3, 4)
_LARGEST = 3.0
"""Bound of scaled weather, so that one wrong value does not matter."""


def weather_places(columns: Sequence[str]) -> tuple[int, ...]:
    """Positions of the inputs that are weather of the zone itself, at most `MOST_VARIABLES`."""
    own = [
        place
        for place, name in enumerate(columns)
        if name not in CALENDAR_COLUMNS and not is_neighbour(name)
    ]
    return tuple(own[:MOST_VARIABLES])


def features(weather: Float32Array, times: Int64Array) -> Float64Array:
    """Features (n x m) of scaled weather (n x v) at times (n, seconds): curves by hour and day."""
    turn = times % SECONDS_PER_DAY / SECONDS_PER_DAY * 2 * np.pi
    waves = np.stack([wave(k * turn) for k in _HARMONICS for wave in (np.sin, np.cos)], axis=1)
    weekday = (times // SECONDS_PER_DAY + 3) % DAYS_PER_WEEK
    weekend, sunday = (weekday >= 5)[:, None] * 1.0, (weekday == 6)[:, None] * 1.0
    values = np.clip(weather.astype(np.float64), -_LARGEST, _LARGEST)
    by_hour = (values[:, :, None] * waves[:, None, :2]).reshape(len(times), -1)
    parts = (waves, weekend, weekend * waves, sunday, sunday * waves[:, :2])
    return np.concatenate(
        [np.ones((len(times), 1)), *parts, values, np.square(values), by_hour], axis=1
    )


@dataclass(frozen=True, eq=False)
class Reference:
    """Regressions of `e` entities on `m` features.

    Args:
        moments: Sums of products of features, `e x m x m`.
        products: Sums of products of features and power, `e x m`.
        days: Days learned from, `e`.
    """

    moments: Float64Array
    products: Float64Array
    days: Int64Array

    @classmethod
    def empty(cls, entities: int, width: int) -> Self:
        """Before the first day; ``width`` is the number of features."""
        return cls(
            np.zeros((entities, width, width)),
            np.zeros((entities, width)),
            np.zeros(entities, np.int64),
        )

    def expect(self, inputs: Float64Array) -> Float64Array:
        """Expected power (n x e) by features (n x m); NaN where too little is known."""
        ready = self.days >= FEWEST_DAYS
        expected = np.full((len(inputs), len(ready)), np.nan)
        if ready.any():
            ridge = _RIDGE * np.eye(self.products.shape[1])
            found = np.linalg.solve(self.moments[ready] + ridge, self.products[ready][..., None])
            expected[:, ready] = inputs @ found[..., 0].T
        return expected

    def learn(self, inputs: Float64Array, power: Float64Array, chosen: BoolArray) -> Self:
        """After a day: features (n x m), power (n x e, NaN: none), chosen entities (e)."""
        complete = np.isfinite(inputs).all(axis=1, keepdims=True)
        known = np.isfinite(power) & complete & chosen
        kept = np.where(chosen, 0.5 ** (1 / HALF_LIFE_DAYS), 1.0)
        moments, products = self.moments * kept[:, None, None], self.products * kept[:, None]
        safe = np.nan_to_num(inputs)
        for place in np.flatnonzero(chosen):
            rows = safe[known[:, place]]
            moments[place] += rows.T @ rows
            products[place] += power[known[:, place], place] @ rows
        return replace(self, moments=moments, products=products, days=self.days + chosen)

    def forget(self, place: int) -> Self:
        """Without what was learned of one entity."""
        other = np.arange(len(self.days)) != place
        return replace(
            self,
            moments=self.moments * other[:, None, None],
            products=self.products * other[:, None],
            days=self.days * other,
        )

    def select(self, places: Sequence[int]) -> Self:
        """Of the entities at some places."""
        own = list(places)
        return type(self)(self.moments[own], self.products[own], self.days[own])

    def add_entities(self, other: Self) -> Self:
        """Of these entities, then of others."""
        return type(self)(
            np.concatenate([self.moments, other.moments]),
            np.concatenate([self.products, other.products]),
            np.concatenate([self.days, other.days]),
        )
