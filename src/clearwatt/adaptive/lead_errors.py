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
ERROR_TERMS = 1 + len(MEAN_HOURS)
"""Number `q` of terms: the newest error, and the means."""
LONG = 2**40
"""More steps than any clock has."""


class LatestErrors(NamedTuple):
    """Errors (measured less forecast) and measurements known at some issues, `...`, or at one."""

    errors: Float64Array
    """The newest error, and means of the last hours, `... x e x q`; 0 where there is none."""
    measured: Float64Array
    """The newest measurement, `... x e`; NaN where there is none within a day."""
    ages: Int64Array
    """Steps from the newest error to the issue, `... x e`; `LONG` where there is none."""

    def select(self, places: Sequence[int]) -> LatestErrors:
        """Of the entities at some places."""
        own = list(places)
        return LatestErrors(self.errors[..., own, :], self.measured[..., own], self.ages[..., own])


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
            return LatestErrors(
                np.zeros((*shape, ERROR_TERMS)), nan_array(*shape), np.full(shape, LONG)
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
        return LatestErrors(
            errors,
            np.where(found, self.measured[held], np.nan),
            np.where(found, ages, LONG),
        )

    def known_of_each(self, issued: int) -> LatestErrors:
        """What the newest errors up to a step told when they became known, entity by entity.

        An entity that reports late is forecast from its own newest error, and from further ahead.
        """
        ages = self.known_at(np.array([issued])).ages[0]
        own = np.where(ages < LONG, issued - ages, issued)
        moments, places = np.unique(own, return_inverse=True)
        found, entities = self.known_at(moments), np.arange(len(own))
        return LatestErrors(found.errors[places, entities], found.measured[places, entities], ages)
