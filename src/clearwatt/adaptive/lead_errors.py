"""What the errors of the last hours tell at the moment a forecast is issued."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from clearwatt.arrays import Float64Array, Int64Array, nan_array
from clearwatt.clock import HOURS_PER_DAY, Steps

MEAN_HOURS = (3, 6, 24)
"""Lengths of the means of the last errors."""
ERROR_TERMS = 2 + len(MEAN_HOURS)
"""Number `q` of terms: the newest error, the means, and the change of the newest error."""
LONG = 2**40
"""More steps than any clock has."""


class LatestErrors(NamedTuple):
    """Errors (measured less forecast) and measurements known at some issues, `...`, or at one."""

    errors: Float64Array
    """The newest error, means of the last hours, and the change since the step before the newest,
    `... x e x q`; 0 where there is none."""
    measured: Float64Array
    """The newest measurement, `... x e`; NaN where there is none within a day."""
    day_before: Float64Array
    """The measurement a day before the newest, `... x e`; NaN where there is none."""
    ages: Int64Array
    """Steps from the newest error to the issue, `... x e`; `LONG` where there is none."""

    def select(self, places: Sequence[int]) -> LatestErrors:
        """Of the entities at some places."""
        own = list(places)
        return LatestErrors(
            self.errors[..., own, :],
            self.measured[..., own],
            self.day_before[..., own],
            self.ages[..., own],
        )


@dataclass(frozen=True, eq=False)
class ErrorHistory:
    """Errors of consecutive steps.

    Args:
        first: The first step.
        sums: Sums of the errors of all steps before a row, `n + 1 x e`.
        counts: Numbers of these errors, `n + 1 x e`.
        newest: Row of the newest error before each row, `n + 1 x e`; `-LONG`: there is none.
        errors: Errors, `n x e`; NaN where there is none.
        measured: Measurements, `n x e`.
        day: Steps per day.
    """

    first: int
    sums: Float64Array
    counts: Int64Array
    newest: Int64Array
    errors: Float64Array
    measured: Float64Array
    day: int

    @classmethod
    def of(
        cls, at: Steps, power: Float64Array, measured: Float64Array, *, since: int, day: int
    ) -> Self:
        """The errors of rows.

        Args:
            at: Step of each row, `n`, ascending, none before `since`.
            power: Forecasts, `n x e`; NaN where there is none.
            measured: Measurements, `n x e`; NaN where there is none.
            since: The first step.
            day: Steps per day.
        """
        entities, rows = measured.shape[1], int(at[-1]) - since + 1 if len(at) else 0
        errors, values = nan_array(rows, entities), nan_array(rows, entities)
        errors[at - since] = measured - power
        values[at - since] = measured
        there = np.isfinite(errors)
        none = np.zeros((1, entities))
        newest = np.full((rows + 1, entities), -LONG)
        np.copyto(newest[1:], np.arange(rows)[:, None], where=there)
        return cls(
            first=since,
            sums=np.concatenate([none, np.where(there, errors, 0.0).cumsum(axis=0)]),
            counts=np.concatenate([none.astype(np.int64), there.cumsum(axis=0)]),
            newest=np.maximum.accumulate(newest, axis=0),
            errors=errors,
            measured=values,
            day=day,
        )

    def known_at(self, issued: npt.NDArray[np.int64]) -> LatestErrors:
        """What is known at some steps, `...`, whose own measurements are known."""
        rows, entities = self.errors.shape
        shape = (*issued.shape, entities)
        if not rows:
            none = nan_array(*shape)
            return LatestErrors(
                np.zeros((*shape, ERROR_TERMS)), none, none.copy(), np.full(shape, LONG)
            )
        steps = issued - self.first
        places = np.minimum(np.maximum(steps, -1), rows - 1)
        newest = self.newest[places + 1]
        ages = steps[..., None] - newest
        found = ages < self.day
        errors = np.empty((*shape, ERROR_TERMS))
        held = np.maximum(newest, 0), np.arange(entities)
        errors[..., 0] = np.where(found, self.errors[held], 0.0)
        sums, counts = self.sums[places + 1], self.counts[places + 1]
        hour = max(1, self.day // HOURS_PER_DAY)
        for place, hours in enumerate(MEAN_HOURS, start=1):
            begin = np.minimum(np.maximum(steps + 1 - hours * hour, 0), places + 1)
            count = counts - self.counts[begin]
            errors[..., place] = (sums - self.sums[begin]) / np.maximum(count, 1)
        before = self.errors[np.maximum(newest - 1, 0), held[1]]
        changed = found & (newest > 0) & np.isfinite(before)
        errors[..., -1] = np.where(changed, errors[..., 0] - before, 0.0)
        earlier = newest - self.day
        day_before = self.measured[np.maximum(earlier, 0), held[1]]
        return LatestErrors(
            errors,
            np.where(found, self.measured[held], np.nan),
            np.where(found & (earlier >= 0), day_before, np.nan),
            np.where(found, ages, LONG),
        )

    def day_before(self, at: Steps, issued: npt.NDArray[np.int64]) -> Float64Array:
        """Measurements a day before some steps, `n`, that are known at each issue, `... x n`.

        Returns:
            `... x n x e`; NaN where there is none.
        """
        rows, entities = self.errors.shape
        places = at - self.day - self.first
        there = (places >= 0) & (places < rows)
        found = nan_array(len(at), entities)
        found[there] = self.measured[places[there]]
        return np.where((at - self.day <= issued)[..., None], found, np.nan)

    def known_of_each(self, issued: int) -> LatestErrors:
        """What the newest errors up to a step told when they became known, entity by entity.

        An entity that reports late is forecast from its own newest error, and from further ahead.
        """
        ages = self.known_at(np.array([issued])).ages[0]
        own = np.where(ages < LONG, issued - ages, issued)
        moments, places = np.unique(own, return_inverse=True)
        found, entities = self.known_at(moments), np.arange(len(own))
        return LatestErrors(
            found.errors[places, entities],
            found.measured[places, entities],
            found.day_before[places, entities],
            ages,
        )
