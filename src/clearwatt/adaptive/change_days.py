"""Days that may be the beginning of a change, and how much the factor of a day usually varies."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clearwatt.adaptive.day_readings import DayReadings, last_week
from clearwatt.adaptive.levels import power_now
from clearwatt.adaptive.state import LearnerState
from clearwatt.arrays import BoolArray, Float64Array, Int64Array

BAD = 2.0
"""Mean error of a day, in usual errors, from which on a change may have begun."""
LARGE_DAY = 4.0
"""Mean error of the newest day, in usual errors, that makes an update wait."""
ONE_SIDED = 0.99
"""Share of the errors of that day, by size, on one side."""
FLOOR = 0.02
"""Added to the mean power of a day, as a share of the largest, so that calm days have a factor."""
CALM = 0.15
"""Spread of the logarithm of a day's factor up to which a few days are enough to be sure."""


class DayErrors(NamedTuple):
    """Errors of the networks on the days that ended last, the newest last."""

    bad: BoolArray
    """Whether the mean error of a day was far above the usual one, `days x e`."""
    sums: Float64Array
    """Sum of the errors of a day in deviations, `days x e`."""
    counts: Int64Array
    """Number of these errors, `days x e`."""
    day: int
    """Steps per day."""

    @property
    def measured(self) -> BoolArray:
        """Whether at least half a day was measured, `days x e`."""
        return np.asarray(2 * self.counts >= self.day, np.bool_)


def day_errors(state: LearnerState, week: DayReadings | None = None) -> DayErrors:
    """Errors of each of the last seven days before the boundary.

    Args:
        state: Of the learner.
        week: The readings of these days; None: those of the state.
    """
    week = last_week(state, state.boundary) if week is None else week
    sums = np.where(week.known, week.errors, 0.0).sum(axis=1)
    usual = np.array([version.error for version in state.ensemble.versions])
    bad = sums > BAD * usual * week.counts
    return DayErrors(bad, sums, week.counts, state.frame.schedule.clock.day)


def in_doubt(state: LearnerState, least: float) -> BoolArray:
    """Entities whose newest day may be the beginning of a change of level, `e`.

    Its errors are far above the usual ones and on one side, measured by forecast power is `least`
    or more, up or down, and the factor of a day varies little without a change.
    """
    recent, day = state.recent, state.frame.schedule.clock.day
    rows = slice(int(recent.at.searchsorted(state.boundary - day)), None)
    errors = recent.measured[rows] - recent.slow[rows]
    known = np.isfinite(errors)
    errors = np.where(known, errors, 0.0)
    usual = np.array([version.error for version in state.ensemble.versions])
    total, counts = np.abs(errors).sum(axis=0), known.sum(axis=0)
    one_sided = np.abs(errors.sum(axis=0)) >= ONE_SIDED * total
    large = (2 * counts >= day) & (total > LARGE_DAY * usual * counts)
    power = power_now(state)
    measured, forecast = (
        np.where(known, each[rows] * power.scale + power.mean, 0.0).sum(axis=0)
        for each in (recent.measured, recent.slow)
    )
    factor = (measured >= least * forecast) | (measured <= forecast / least)
    return np.asarray(one_sided & large & factor & (state.watch.spread < CALM), np.bool_)


def day_factors(state: LearnerState, age: int) -> tuple[Float64Array, Float64Array]:
    """Logarithm of measured by forecast power of a past day, and its weight, both `e`.

    NaN where too little was measured or power was not above 0.

    Args:
        state: Of the learner.
        age: Days that have ended since; 0: the newest that has ended.
    """
    day = state.frame.schedule.clock.day
    newest = last_week(state, (state.boundary // day - age) * day).pick(slice(-1, None))
    logs, weights = factors_of_days(state, newest)
    return logs[0], weights[0]


def factors_of_days(state: LearnerState, days: DayReadings) -> tuple[Float64Array, Float64Array]:
    """Logarithms and weights of `a` days as in `day_factors`, both `a x e`."""
    power, limits = power_now(state), state.limits
    values = power.undo(np.array([days.measured, days.forecast]))
    sums, counts = np.where(days.known, values, 0.0).sum(axis=2), days.counts
    floor = FLOOR * np.maximum(-power.undo(limits.low), power.undo(limits.high)) * counts
    half = (state.frame.schedule.clock.day + 1) // 2
    used = (counts >= half) & (np.minimum(sums[0], sums[1]) >= 0) & (floor > 0)
    measured, forecast = np.where(used, sums + floor, 1.0)
    return np.where(used, np.log(measured / forecast), np.nan), forecast / np.maximum(counts, 1)
