"""The search for a change of level: the same weather gives a multiple of what it gave before.

The past is not wrong after such a change, it is of another scale. A change is believed if a single
factor explains the errors of days, on every one of them, down to about the usual error.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from clearwatt.adaptive.levels import power_now
from clearwatt.adaptive.settings import ChangeSettings
from clearwatt.adaptive.state import LearnerState
from clearwatt.arrays import BoolArray, Float64Array, Int64Array
from clearwatt.clock import DAYS_PER_WEEK, Steps

BAD = 2.0
"""Mean error of a day, in usual errors, from which on a change may have begun."""
LARGE = 1.5
"""Mean error since the change, in usual errors, that it must have."""
LARGE_DAY = 4.0
"""Mean error of the newest day, in usual errors, that makes an update wait."""
ONE_SIDED = 0.99
"""Share of the errors of that day, by size, on one side."""
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
CALM = 0.15
"""Spread of the logarithm of a day's factor up to which a few days are enough to be sure."""
LONG = 6.0
"""Days that a change must have lasted where the factor of a day varies more."""
RESPONSE = 2.0
"""Error with the factor by spread of the readings, as a multiple of what is usual: the response to
weather and hour must be intact."""
LEAST_RESPONSE = 0.6
"""The same at most."""
BETTER = 0.8
"""Error with the factor as a share of that of the forecasts as issued, which adapt, too."""
FLOOR = 0.02
"""Added to the mean power of a day, as a share of the largest, so that calm days have a factor."""
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


def day_factors(state: LearnerState) -> tuple[Float64Array, Float64Array]:
    """Logarithm of measured by forecast power of the oldest of the last seven days, and weight.

    Both `e`; NaN where too little was measured or power was not above 0. That day is old enough:
    had a change begun on it, the change would have been found, or is none.
    """
    day, recent, power = state.frame.schedule.clock.day, state.recent, power_now(state)
    end = state.boundary // day * day - (DAYS_PER_WEEK - 1) * day
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


def find_level_change(
    state: LearnerState, place: int, settings: ChangeSettings
) -> LevelChange | None:
    """The change of level of an entity that the last days show; None: none."""
    day, recent, power = state.frame.schedule.clock.day, state.recent, power_now(state)
    first = int(state.watch.examined[place])
    own = np.flatnonzero(
        (recent.at >= first)
        & np.isfinite(recent.measured[:, place])
        & np.isfinite(recent.slow[:, place])
    )
    at = recent.at[own]
    calm = float(state.watch.spread[place]) < CALM
    span = round(max(settings.days, 0.0 if calm else LONG) * day)
    newest = at >= state.boundary - span
    if 2 * int(newest.sum()) < span:
        return None
    mean, scale = float(power.mean[place]), float(power.scale[place])
    measured = recent.measured[own, place] * scale + mean
    forecast = recent.slow[own, place] * scale + mean
    factor = fit_factor(measured[newest], forecast[newest])
    start = _onset(measured, forecast, factor)
    if start is None or state.boundary - at[start] < span:
        return None
    at, measured, forecast = at[start:], measured[start:], forecast[start:]
    issued = recent.power[own[start:], place] * scale + mean
    error = state.ensemble.versions[place].error
    usual = error * scale
    found = _judge(at, measured, forecast, usual=usual, day=day, least=settings.least_factor)
    if found is None or not _is_unusual(state, place, found, days=(at[-1] - at[0] + 1) / day):
        return None
    late = at >= state.boundary - round(settings.days * day)
    left = np.abs(measured - found.factor * forecast)
    around = float(np.abs(measured - np.median(measured)).mean())
    intact = left.mean() <= min(RESPONSE * error, LEAST_RESPONSE) * around
    better = left[late].mean() <= BETTER * np.abs(measured - issued)[late].mean()
    return found if intact and better else None


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


def _onset(measured: Float64Array, forecast: Float64Array, factor: float) -> int | None:
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
