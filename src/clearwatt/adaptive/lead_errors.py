"""What the errors of the last hours tell at the moment a forecast is issued."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from clearwatt.arrays import Float64Array, Int64Array, nan_array
from clearwatt.clock import HOURS_PER_DAY, Steps

MEAN_HOURS = (3, 6, 24)
"""Lengths of the means of the last errors."""
ERROR_TERMS = 1 + len(MEAN_HOURS)
"""Number `q` of terms: the newest error, and the means."""


class LatestErrors(NamedTuple):
    """Errors (measured less forecast) and measurements known at `n` issues, or at one."""

    errors: Float64Array
    """The newest error, and means of the last hours, `n x e x q`; 0 where there is none."""
    measured: Float64Array
    """The newest measurement, `n x e`; NaN where there is none within a day."""

    def select(self, places: Sequence[int]) -> LatestErrors:
        """Of the entities at some places."""
        own = list(places)
        return LatestErrors(self.errors[..., own, :], self.measured[..., own])


@dataclass(frozen=True, eq=False)
class ErrorHistory:
    """Errors of consecutive steps.

    Args:
        first: The first step.
        sums: Sums of the errors of all steps before a row, `n + 1 x e`.
        counts: Numbers of these errors, `n + 1 x e`.
        newest: Row of the newest measurement up to each row, `n x e`; -1: there is none.
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
        newest = np.where(there, np.arange(rows)[:, None], -1)
        return cls(
            first=since,
            sums=np.concatenate([none, np.where(there, errors, 0.0).cumsum(axis=0)]),
            counts=np.concatenate([none.astype(np.int64), there.cumsum(axis=0)]),
            newest=np.maximum.accumulate(newest, axis=0),
            errors=errors,
            measured=values,
            day=day,
        )

    def known_at(self, issued: Steps) -> LatestErrors:
        """What is known at some steps, `n`, whose own measurements are known."""
        rows, entities = len(self.errors), self.errors.shape[1]
        if not rows:
            shape = (len(issued), entities)
            return LatestErrors(np.zeros((*shape, ERROR_TERMS)), nan_array(*shape))
        places = np.clip(issued - self.first, -1, rows - 1)
        newest = np.where((places >= 0)[:, None], self.newest[places], -1)
        found = (newest >= 0) & (newest > (issued - self.first - self.day)[:, None])
        held = np.where(found, newest, 0), np.arange(entities)
        terms = [np.where(found, self.errors[held], 0.0)]
        hour = max(1, self.day // HOURS_PER_DAY)
        for hours in MEAN_HOURS:
            # What lies after the last row is not known, and does not shorten the mean.
            begin = np.clip(issued - self.first + 1 - hours * hour, 0, places + 1)
            count = self.counts[places + 1] - self.counts[begin]
            total = self.sums[places + 1] - self.sums[begin]
            terms.append(np.where(count > 0, total / np.maximum(count, 1), 0.0))
        measured = np.where(found, self.measured[held], np.nan)
        return LatestErrors(np.stack(terms, axis=2), measured)
