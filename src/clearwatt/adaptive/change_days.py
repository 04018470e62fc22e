"""Days that may be the beginning of a change, and how much the factor of a day usually varies."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clearwatt.adaptive.levels import power_now
from clearwatt.adaptive.state import LearnerState
from clearwatt.arrays import BoolArray, Float64Array
from clearwatt.clock import DAYS_PER_WEEK

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
    measured: BoolArray
    """Whether at least half a day was measured, `days x e`."""


def day_errors(state: LearnerState) -> DayErrors:
    """Errors of each of the last seven days before the boundary."""
    day, recent = state.frame.schedule.clock.day, state.recent
    ages = (state.boundary - 1 - recent.at) // day
    rows = np.flatnonzero((ages >= 0) & (ages < DAYS_PER_WEEK))
    errors = np.abs(recent.measured[rows] - recent.slow[rows])
    known = np.isfinite(errors) & ~state.watch.standing_at(recent.at[rows])
    sums = np.zeros((DAYS_PER_WEEK, len(state.names)))
    counts = np.zeros_like(sums)
    np.add.at(sums, ages[rows], np.where(known, errors, 0.0))
    np.add.at(counts, ages[rows], known)
    usual = np.array([version.error for version in state.ensemble.versions])
    bad = (counts > 0) & (sums > BAD * usual * np.maximum(counts, 1))
    return DayErrors(bad[::-1], (2 * counts >= day)[::-1])


def in_doubt(state: LearnerState, least: float) -> BoolArray:
    """Entities whose newest day may be the beginning of a change of level, `e`.

    Its errors are far above the usual ones and on one side, measured by forecast power is `least`
    or more, up or down, and the factor of a day varies little without a change.
    """
    recent, day = state.recent, state.frame.schedule.clock.day
    rows = recent.at >= state.boundary - day
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
    day, recent, power = state.frame.schedule.clock.day, state.recent, power_now(state)
    end = state.boundary // day * day - age * day
    rows = slice(*recent.at.searchsorted([end - day, end]).tolist())
    at, measured, forecast = recent.at[rows], recent.measured[rows], recent.slow[rows]
    known = np.isfinite(measured) & np.isfinite(forecast) & ~state.watch.standing_at(at)
    sums = [
        np.where(known, each * power.scale + power.mean, 0.0).sum(axis=0)
        for each in (measured, forecast)
    ]
    counts = known.sum(axis=0)
    ends = [end * power.scale + power.mean for end in (state.limits.low, state.limits.high)]
    floor = FLOOR * np.abs(ends).max(axis=0) * counts
    used = (2 * counts >= day) & (sums[0] >= 0) & (sums[1] >= 0) & (floor > 0)
    safe = [np.where(used, each + floor, 1.0) for each in sums]
    return np.where(used, np.log(safe[0] / safe[1]), np.nan), safe[1] / np.maximum(counts, 1)
