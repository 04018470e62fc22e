"""A contradicted past: the weather acts with the opposite sign, which no factor explains."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clearwatt.adaptive.change_days import DayErrors
from clearwatt.adaptive.levels import power_of
from clearwatt.adaptive.state import LearnerState
from clearwatt.arrays import Float64Array
from clearwatt.clock import DAYS_PER_WEEK, Steps

LEAST_DAYS = 5.0
"""Days of the last week that must contradict the past; a few holidays do, too."""
LARGE = 2.0
"""Error of the median day of the last week, in usual errors: one extreme day is no evidence."""
ROUNDING = 0.99
"""Share of that limit for a test that only saves the others."""
EXPLAINED = 0.5
"""Share of the error, without the means of the hours, that the mirrored forecast may leave: a step
of the level is opposite to the forecast at times, but of another size."""
OPPOSITE = -0.6
"""Correlation of readings and forecasts of a week, without the means of their hours, at most."""


class Contradiction(NamedTuple):
    """Readings since a step are opposite to what the same weather gave before."""

    step: int
    error: float
    """Mean absolute error of the networks since then, in units of power."""


def may_contradict(state: LearnerState, place: int, errors: DayErrors) -> bool:
    """Whether half of the days or more have large errors, as their median needs: a cheap test."""
    least = ROUNDING * LARGE * state.ensemble.versions[place].error
    days = zip(errors.sums[:, place].tolist(), errors.counts[:, place].tolist(), strict=True)
    large = [total >= least * count for total, count in days if count]
    return bool(2 * sum(large) >= len(large))


def find_contradiction(state: LearnerState, place: int) -> Contradiction | None:
    """The contradiction of the past that the last week shows; None: none."""
    day, recent = state.frame.schedule.clock.day, state.recent
    own = np.flatnonzero(
        (recent.at >= state.boundary - DAYS_PER_WEEK * day)
        & (recent.at < state.boundary)
        & np.isfinite(recent.measured[:, place])
        & np.isfinite(recent.slow[:, place])
    )
    if 2 * len(own) < DAYS_PER_WEEK * day or not np.isfinite(state.watch.spread[place]):
        return None
    at, measured, forecast = recent.at[own], recent.measured[own, place], recent.slow[own, place]
    errors, usual = np.abs(measured - forecast), state.ensemble.versions[place].error
    if _median_day(errors, (state.boundary - 1 - at) // day) < LARGE * usual:
        return None
    readings, expected = (_without_hours(each, at % day, day) for each in (measured, forecast))
    before, left = np.abs(readings - expected), np.abs(readings + expected)
    if _correlation(readings, expected) > OPPOSITE or left.sum() > EXPLAINED * before.sum():
        return None
    # Readings are nearer to the mirrored forecast from this step on.
    gain = np.cumsum((before - left)[::-1])[::-1]
    start = int(gain.argmax())
    if state.boundary - at[start] < LEAST_DAYS * day or at[start] < state.watch.examined[place]:
        return None
    _, scale = power_of(state, place)
    return Contradiction(int(at[start]), float(errors[start:].mean()) * scale)


def _median_day(errors: Float64Array, ages: Steps) -> float:
    """Median over days of the mean error of a day; `ages` are the days that have passed, `n`."""
    counts = np.bincount(ages)
    means = np.bincount(ages, errors)[counts > 0] / counts[counts > 0]
    return float(np.median(means))


def _without_hours(values: Float64Array, hours: Steps, day: int) -> Float64Array:
    """Values, `n`, less the mean of their hour of the day."""
    counts = np.maximum(np.bincount(hours, minlength=day), 1)
    found: Float64Array = values - (np.bincount(hours, values, minlength=day) / counts)[hours]
    return found


def _correlation(one: Float64Array, other: Float64Array) -> float:
    """Of values with mean 0; 0 if one of them is constant."""
    size = float(np.sqrt(np.square(one).sum() * np.square(other).sum()))
    return float((one * other).sum()) / size if size > 0 else 0.0
