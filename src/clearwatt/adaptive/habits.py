"""Changed habits: one or two days of the week have another level, the others are as before.

A weekend may be unlike others once. It is a habit when the next one shows the same factor.
"""

from __future__ import annotations

import math

import numpy as np

from clearwatt.adaptive.change import LevelChange, fit_factor
from clearwatt.adaptive.change_days import CALM
from clearwatt.adaptive.levels import power_of
from clearwatt.adaptive.state import LearnerState
from clearwatt.arrays import BoolArray, Float64Array
from clearwatt.clock import DAYS_PER_WEEK

LONGEST = 2
"""Consecutive days of the week that may change together."""
LEAST_FACTOR = 1.25
"""Smallest factor of a habit, up or down."""
LEAST_LOG = math.log(LEAST_FACTOR)
ALIKE = 0.4
"""Distance of the factor of a single day from the common one, as a share, in logarithms."""
LEAST_ODD = 0.99 * (1 - ALIKE)
"""Size that follows for a single day, as a share of the smallest; a little less for rounding."""
OTHERS = 0.4
"""Largest factor of the other days, in the same measure."""
KNOWN_OTHERS = 8
"""Other days of the two weeks that must be known."""
EXPLAINED = 0.6
"""Share of the error of the newest days that may be left with the factor."""


def find_habit(state: LearnerState, place: int) -> LevelChange | None:
    """The habit that the last two weeks show, if the newest day completes it; None: none."""
    logs = state.watch.logs[place]
    if not _may_repeat(logs) or not float(state.watch.spread[place]) < CALM:
        return None
    for size in range(LONGEST, 0, -1):
        own = _days(len(logs), size)
        if _repeats(logs, own):
            return _judge(state, place, logs, own, size=size)
    return None


def may_be_habits(state: LearnerState) -> BoolArray:
    """Entities with one or two odd days lately of which a week later may show a habit, `e`."""
    lately = state.watch.logs[:, -(DAYS_PER_WEEK + LONGEST) :]
    odd = np.abs(lately) >= LEAST_LOG
    if not odd.any():
        return np.zeros(len(odd), np.bool_)
    count, days = odd.sum(axis=1), odd.shape[1]
    first, last = odd.argmax(axis=1), days - 1 - odd[:, ::-1].argmax(axis=1)
    calm = state.watch.spread < CALM
    return np.asarray(calm & (count > 0) & (last - first < LONGEST), np.bool_)


def _days(count: int, size: int) -> BoolArray:
    """The newest days and those a week before, of all days, the newest last."""
    ages = np.arange(count)[::-1]
    return np.asarray(ages % DAYS_PER_WEEK < size, np.bool_)


def _may_repeat(logs: Float64Array) -> bool:
    """Whether the newest day and that a week before are odd: a cheap test before the others."""
    least = LEAST_ODD * LEAST_LOG
    return bool(abs(logs[-1]) >= least and abs(logs[-1 - DAYS_PER_WEEK]) >= least)


def _repeats(logs: Float64Array, own: BoolArray) -> bool:
    """Whether these days have one factor, and the others none."""
    factor = float(np.median(logs[own]))
    if not abs(factor) >= LEAST_LOG:  # NaN: a day is not known
        return False
    others = np.abs(logs[~own])
    return (
        bool((np.abs(logs[own] - factor) <= ALIKE * abs(factor)).all())
        and int(np.isfinite(others).sum()) >= KNOWN_OTHERS
        and float(np.nanmax(others)) <= OTHERS * abs(factor)
    )


def _judge(
    state: LearnerState, place: int, logs: Float64Array, own: BoolArray, *, size: int
) -> LevelChange | None:
    """The change of level of these days, if a factor explains the newest of them."""
    recent, day = state.recent, state.frame.schedule.clock.day
    mean, scale = power_of(state, place)
    end = state.boundary // day * day
    rows = (recent.at >= end - size * day) & (recent.at < end)
    rows &= np.isfinite(recent.measured[:, place]) & np.isfinite(recent.slow[:, place])
    measured, forecast = (
        each[rows, place] * scale + mean for each in (recent.measured, recent.slow)
    )
    factor = fit_factor(measured, forecast)
    before = float(np.abs(measured - forecast).mean())
    left = float(np.abs(measured - factor * forecast).mean())
    usual = state.ensemble.versions[place].error * scale
    if not factor > 0 or before < usual or left > EXPLAINED * before:
        return None
    number = end // day
    days = tuple(sorted((number - age) % DAYS_PER_WEEK for age in range(1, size + 1)))
    since = (number - DAYS_PER_WEEK - size) * day
    # Since the first week, networks may have learned some of the change.
    first = math.exp(float(np.mean(logs[own][:size])))
    return LevelChange(since, first, before, left, days=days)
