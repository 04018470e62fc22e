"""The return to a level that an entity has had before: an outage is over, a tenant has left.

Which level it may be is known, so that hours are enough where days are needed to find a new one.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from clearwatt.adaptive.breaks import EVERY_DAY, Breaks
from clearwatt.adaptive.change import (
    BEYOND,
    LARGE,
    LEAST_RESPONSE,
    USUAL,
    LevelChange,
    fit_factor,
    highest_before,
    onset,
)
from clearwatt.adaptive.change_days import CALM
from clearwatt.adaptive.levels import power_of
from clearwatt.adaptive.settings import ChangeSettings
from clearwatt.adaptive.state import LearnerState
from clearwatt.arrays import Float64Array
from clearwatt.clock import Steps

BEYOND_HOURS = 1.0
"""Hours of readings above all that the present level can give that prove a higher one."""
EXPLAINED_BEYOND = 0.7
"""Share of the error since the return that may be left with the earlier level then."""
EXPLAINED = 0.5
"""The same without such proof."""
LEAST_DAYS = 1.0
"""Days that a return must have lasted without such proof."""
LONG = 3.0
"""The same where the factor of a day varies more: a day of other weather looks alike."""
UNUSUAL = 3.0
"""Size of the factor in standard errors without such proof; a new level needs five."""
NEAR = 0.35
"""Distance of the factor that fits best from that of the return, as a share, in logarithms."""


class ReadingsSince(NamedTuple):
    """Readings of an entity since a possible return, and the networks' forecasts, in power."""

    at: Steps
    measured: Float64Array
    forecast: Float64Array

    def part(self, start: int) -> ReadingsSince:
        """From a row on."""
        return ReadingsSince._make(each[start:] for each in self)


def find_return(state: LearnerState, place: int, settings: ChangeSettings) -> LevelChange | None:
    """The return of an entity to an earlier level that the last hours show; None: none."""
    factors = [
        each
        for each in return_factors(state.ensemble.versions[place].breaks)
        if max(each, 1 / each) >= settings.least_factor
    ]
    if not factors or not _errs_lately(state, place):
        return None
    readings = _readings(state, place)
    if not len(readings.at):
        return None
    usual = state.ensemble.versions[place].error * power_of(state, place)[1]
    found = [_judge(state, place, readings, factor, usual=usual) for factor in factors]
    return min(
        (each for each in found if each is not None),
        key=lambda each: each.error_after / each.error_before,
        default=None,
    )


def return_factors(breaks: Breaks) -> list[float]:
    """Levels that an entity has had, as multiples of its present one, newest first.

    Levels from before its whole past was left out do not count.
    """
    factor, found = 1.0, []
    for each in reversed(breaks):
        if each.weekdays == EVERY_DAY:
            break
        if not each.is_habit:
            factor /= each.factor
            found.append(factor)
    return found


def _errs_lately(state: LearnerState, place: int) -> bool:
    """Whether the last day has more than the usual error: a cheap test before the others."""
    recent, day = state.recent, state.frame.schedule.clock.day
    rows = slice(*recent.at.searchsorted([state.boundary - day, state.boundary]).tolist())
    errors = np.abs(recent.measured[rows, place] - recent.slow[rows, place])
    known = errors[np.isfinite(errors)]
    return len(known) > 0 and float(known.mean()) >= state.ensemble.versions[place].error


def _readings(state: LearnerState, place: int) -> ReadingsSince:
    recent = state.recent
    mean, scale = power_of(state, place)
    own = np.flatnonzero(
        (recent.at >= state.watch.examined[place])
        & (recent.at < state.boundary)
        & np.isfinite(recent.measured[:, place])
        & np.isfinite(recent.slow[:, place])
    )
    values = (each[own, place] * scale + mean for each in (recent.measured, recent.slow))
    return ReadingsSince(recent.at[own], *values)


def _judge(
    state: LearnerState, place: int, readings: ReadingsSince, factor: float, *, usual: float
) -> LevelChange | None:
    start = onset(readings.measured, readings.forecast, factor)
    if start is None:
        return None
    since = readings.part(start)
    before = float(np.abs(since.measured - since.forecast).mean())
    left = float(np.abs(since.measured - factor * since.forecast).mean())
    if before < LARGE * usual or left > USUAL * max(1.0, factor) * usual:
        return None
    proven = _is_beyond(state, place, since, factor) and left <= EXPLAINED_BEYOND * before
    if proven or (
        left <= EXPLAINED * before and _is_likely(state, place, since, factor, left=left)
    ):
        return LevelChange(int(since.at[0]), factor, before, left, returned=True)
    return None


def _is_beyond(state: LearnerState, place: int, since: ReadingsSince, factor: float) -> bool:
    """Whether hours of readings are above all that the present level can give."""
    highest = highest_before(state, place)
    if factor < 1 or highest is None:
        return False
    least = max(2.0, BEYOND_HOURS / 24 * state.frame.schedule.clock.day)
    return int((since.measured > BEYOND * highest).sum()) >= least


def _is_likely(
    state: LearnerState, place: int, since: ReadingsSince, factor: float, *, left: float
) -> bool:
    """Whether a day or more shows this very factor, and readings still follow the forecast."""
    days = (state.boundary - int(since.at[0])) / state.frame.schedule.clock.day
    size, spread = abs(math.log(factor)), float(state.watch.spread[place])
    enough = len(since.at) >= days / 2 * state.frame.schedule.clock.day
    if not enough or days < (LEAST_DAYS if spread < CALM else LONG):
        return False
    fitted = fit_factor(since.measured, since.forecast)
    around = float(np.abs(since.measured - np.median(since.measured)).mean())
    return (
        size > UNUSUAL * spread / math.sqrt(days)
        and fitted > 0
        and abs(math.log(fitted / factor)) <= NEAR * size
        and left <= LEAST_RESPONSE * around
    )
