"""The search for a change of level: the same weather gives a multiple of what it gave before.

The past is not wrong after such a change, it is of another scale. A change is believed if a single
factor explains the errors of days, on every one of them, down to about the usual error.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from clearwatt.adaptive.breaks import EVERY_DAY
from clearwatt.adaptive.change_days import CALM
from clearwatt.adaptive.levels import power_of
from clearwatt.adaptive.settings import ChangeSettings
from clearwatt.adaptive.state import LearnerState
from clearwatt.arrays import Float64Array, Int64Array
from clearwatt.clock import Steps

LARGE = 1.5
"""Mean error since the change, in usual errors, that it must have."""
EXPLAINED = 0.4
"""Share of the error that may be left with the factor."""
EXPLAINED_DAY = 0.7
"""The same on each single day."""
USUAL = 1.6
"""Usual errors, at the new level, that may be left with the factor."""
OTHERWISE = 0.8
"""Largest error with the factor, as a share of that with a constant added instead."""
UNUSUAL = 5.0
"""Size of the factor in standard errors: its logarithm varies from day to day without a change."""
LONG = 6.0
"""Days that a change must have lasted where the factor of a day varies more."""
RESPONSE = 2.0
"""Error with the factor by spread of the readings, as a multiple of what is usual: the response to
weather and hour must be intact."""
LEAST_RESPONSE = 0.6
"""The same at most."""
BETTER = 0.8
"""Error with the factor as a share of that of the forecasts as issued, which adapt, too."""
BEYOND = 1.2
"""Multiple of the highest power so far that only another plant or a larger town has."""
MANY = 0.1
"""Share of the readings of each of the last days that must be beyond it."""
EXPLAINED_BEYOND = 0.6
"""Share of the error that may be left with the factor then."""
SHIFTED_BEYOND = 1.3
"""The error as a share of that with a constant added instead, then."""
ROUNDING = 0.99
"""Share of a limit that a test must exceed which only saves the others."""
SMALLEST = 0.02
"""Factors below this are no change of level: nearly nothing is left."""


class LevelChange(NamedTuple):
    """Evidence of a change of level; errors are means of absolute errors in units of power."""

    step: int
    """First step after the change."""
    factor: float
    error_before: float
    """Of the networks since then."""
    error_after: float
    """With the factor."""
    returned: bool = False
    """Whether the entity has had the new level before."""
    days: tuple[int, ...] = EVERY_DAY
    """Days of the week that have the new level, counted from the clock's step 0."""


def find_level_change(
    state: LearnerState, place: int, settings: ChangeSettings
) -> LevelChange | None:
    """The change of level of an entity that the last days show; None: none."""
    if not _is_possible(state, place, settings):
        return None
    day, recent = state.frame.schedule.clock.day, state.recent
    mean, scale = power_of(state, place)
    first = int(recent.at.searchsorted(state.watch.examined[place]))
    known = np.isfinite(recent.measured[first:, place]) & np.isfinite(recent.slow[first:, place])
    own = first + np.flatnonzero(known)
    measured = recent.measured[own, place] * scale + mean
    forecast = recent.slow[own, place] * scale + mean
    at, beyond = recent.at[own], _exceeds_range(state, place, settings)
    sure = beyond or float(state.watch.spread[place]) < CALM
    span = round(max(settings.days, 0.0 if sure else LONG) * day)
    newest = at >= state.boundary - span
    if 2 * int(newest.sum()) < span:
        return None
    factor = fit_factor(measured[newest], forecast[newest])
    start = onset(measured, forecast, factor)
    if start is None or state.boundary - at[start] < span:
        return None
    at, measured, forecast = at[start:], measured[start:], forecast[start:]
    issued = recent.power[own[start:], place] * scale + mean
    error = state.ensemble.versions[place].error
    usual = error * scale
    if beyond:
        return _fit_beyond(at, measured, forecast, usual=usual, least=settings.least_factor)
    found = _judge(at, measured, forecast, usual=usual, day=day, least=settings.least_factor)
    if found is None or not _is_unusual(state, place, found, days=(at[-1] - at[0] + 1) / day):
        return None
    late = at >= state.boundary - round(settings.days * day)
    left = np.abs(measured - found.factor * forecast)
    around = float(np.abs(measured - np.median(measured)).mean())
    intact = left.mean() <= min(RESPONSE * error, LEAST_RESPONSE) * around
    better = left[late].mean() <= BETTER * np.abs(measured - issued)[late].mean()
    return found if intact and better else None


def _exceeds_range(state: LearnerState, place: int, settings: ChangeSettings) -> bool:
    """Whether many readings of each of the last days are above all that there was before."""
    highest = highest_before(state, place)
    if highest is None:
        return False
    days = (_readings_of_day(state, place, age) for age in range(math.ceil(settings.days)))
    return all(len(day) > 0 and float((day > BEYOND * highest).mean()) >= MANY for day in days)


def _readings_of_day(state: LearnerState, place: int, age: int) -> Float64Array:
    """Readings of a past day that are examined, in power, `n`; age 0: up to the boundary."""
    day, (mean, scale) = state.frame.schedule.clock.day, power_of(state, place)
    end = state.boundary - age * day
    first = max(end - day, int(state.watch.examined[place]))
    rows = slice(*state.recent.at.searchsorted([first, end]).tolist())
    values: Float64Array = state.recent.measured[rows, place] * scale + mean
    return values[np.isfinite(values)]


def _is_possible(state: LearnerState, place: int, settings: ChangeSettings) -> bool:
    """Whether errors are so large that a factor may explain them: a cheap test before the others.

    A factor `f` moves the forecasts `p` by the sum of `|f - 1| |p|`. That is at most the error
    without it and the share of this error that may be left with it.
    """
    least, (mean, scale) = settings.least_factor, power_of(state, place)
    smallest = min((1 - 1 / least) / (1 + EXPLAINED), (least - 1) / (1 + EXPLAINED_BEYOND))
    rows = slice(int(state.recent.at.searchsorted(state.watch.examined[place])), None)
    measured, forecast = state.recent.measured[rows, place], state.recent.slow[rows, place]
    moved = ROUNDING * smallest * np.abs(forecast * scale + mean)
    excess = np.abs(measured - forecast) * scale - moved
    sums = excess[np.isfinite(excess)][::-1].cumsum()  # since each step
    return len(sums) > 0 and float(sums.max()) >= 0


def highest_before(state: LearnerState, place: int) -> float | None:
    """Highest power at the present level before the days in doubt; None: not known, or not > 0."""
    earlier, name = state.earlier, state.names[place]
    if earlier is None or name not in earlier.names:
        return None
    high = float(earlier.limits.high[earlier.names.index(name)])
    mean, scale = power_of(state, place)
    highest = high * scale + mean
    return highest if highest > 0 else None


def _fit_beyond(
    at: Steps, measured: Float64Array, forecast: Float64Array, *, usual: float, least: float
) -> LevelChange | None:
    """The change of an entity beyond its range; that weather alone may cause it is ruled out."""
    factor = fit_factor(measured, forecast)
    before = float(np.abs(measured - forecast).mean())
    left = float(np.abs(measured - factor * forecast).mean())
    shift = measured - forecast
    shifted = float(np.abs(shift - np.median(shift)).mean())
    around = float(np.abs(measured - np.median(measured)).mean())
    explained = (
        left <= EXPLAINED_BEYOND * before
        and left <= USUAL * factor * usual
        and left <= SHIFTED_BEYOND * shifted
        and left <= around
    )
    return LevelChange(int(at[0]), factor, before, left) if factor >= least and explained else None


def _is_unusual(state: LearnerState, place: int, found: LevelChange, *, days: float) -> bool:
    """Whether so large a factor is no chance, given how much that of single days varies."""
    spread = float(state.watch.spread[place])
    return abs(math.log(found.factor)) > UNUSUAL * spread / math.sqrt(max(1.0, days))


def fit_factor(measured: Float64Array, forecast: Float64Array) -> float:
    """Factor of the forecast with the least sum of absolute errors, a weighted median."""
    weights = np.abs(forecast)
    if not weights.sum():
        return 1.0
    used = weights > 0
    ratios, weights = measured[used] / forecast[used], weights[used]
    order = np.argsort(ratios, kind="stable")
    sums = np.cumsum(weights[order])
    return float(ratios[order][np.searchsorted(sums, sums[-1] / 2)])


def onset(measured: Float64Array, forecast: Float64Array, factor: float) -> int | None:
    """The reading from which on the factor explains more than it did before."""
    before = np.abs(measured - forecast)
    after = np.abs(measured - factor * forecast)
    gain = np.cumsum((before - after)[::-1])[::-1]
    start = int(gain.argmax())
    return start if gain[start] > 0 else None


def _judge(
    at: Steps,
    measured: Float64Array,
    forecast: Float64Array,
    *,
    usual: float,
    day: int,
    least: float,
) -> LevelChange | None:
    """The change, if a factor explains the errors since its first step."""
    factor = fit_factor(measured, forecast)
    if factor < SMALLEST or max(factor, 1 / factor) < least:
        return None
    before, after = np.abs(measured - forecast), np.abs(measured - factor * forecast)
    shift = measured - forecast
    shifted = float(np.abs(shift - np.median(shift)).mean())
    left, error = float(after.mean()), float(before.mean())
    days: Int64Array = (at - at[0]) // day
    sums = [np.bincount(days, each) for each in (before, after)]
    counted = sums[0] >= usual * np.bincount(days)
    explained = (
        error >= LARGE * usual
        and left <= EXPLAINED * error
        and left <= USUAL * max(1.0, factor) * usual
        and left <= OTHERWISE * shifted
        and bool((sums[1] <= EXPLAINED_DAY * sums[0])[counted].all())
    )
    return LevelChange(int(at[0]), factor, error, left) if explained else None
