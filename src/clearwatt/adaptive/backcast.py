"""The past of an entity that joined without history, back-cast from the other entities.

An entity that starts from a fleet prior has networks that do not know it. Where other entities of
the zone tell its readings, a regression on theirs reconstructs what it would have measured in the
samples held from before it joined, and its networks learn from that. Reconstructed readings are
computed for each training and are not stored, so that nothing else takes them for readings.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np

from clearwatt.adaptive.breaks import left_out
from clearwatt.adaptive.ensemble import Ensemble
from clearwatt.adaptive.first_step import FirstStep
from clearwatt.adaptive.reconstruction import LARGEST_ERROR, HeldReadings, ReadingRegression
from clearwatt.adaptive.silences import SILENT_DAYS
from clearwatt.adaptive.state import LearnerState
from clearwatt.adaptive.terms import lag_inputs
from clearwatt.adaptive.updates import Backcast, HeldSamples
from clearwatt.arrays import BoolArray, Float64Array, Int64Array
from clearwatt.forecaster import Name

FIRST_DAYS = 4
"""Days after which the first update is due."""
GROWTH = 1.4
"""Growth of the days since an entity joined that makes the next update, or attempt, due."""
LEAST_DAYS = 3
"""Days' worth of common readings that must be held."""
LEAST_PAST = 0.9
"""Share of the samples from before it joined in which another entity must have been measured."""
LARGEST_SHARE = 0.6
"""Mean error of a regression in its test, as a share of the readings' mean distance to their mean.
"""


def due_backcasts(state: LearnerState) -> BoolArray:
    """Entities without history with enough days more than at the last update or attempt, `e`.

    Asked once a day.
    """
    schedule, due = state.frame.schedule, np.zeros(len(state.names), np.bool_)
    day = schedule.clock.day
    if not state.frame.settings.backcast or state.boundary % day >= schedule.refresh:
        return due
    for first in current_first_steps(state):
        place = state.names.index(first.entity)
        age = state.boundary - first.step
        rest = max(int(state.progress.updated[place]), first.tried) - first.step
        due[place] = age >= max(FIRST_DAYS * day, GROWTH * rest)
    return due


def note_attempts(state: LearnerState, names: Collection[Name]) -> tuple[FirstStep, ...]:
    """First steps after other entities did not tell the past of some."""
    return tuple(
        replace(each, tried=state.boundary) if each.entity in names else each
        for each in state.first_steps
    )


def current_first_steps(state: LearnerState) -> tuple[FirstStep, ...]:
    """First steps of the entities whose networks still count as a fleet's."""
    if not state.first_steps:  # of most zones; asked for each update
        return ()
    versions = dict(zip(state.names, state.ensemble.versions, strict=True))
    return tuple(each for each in state.first_steps if versions[each.entity].from_fleet)


def backcast_readings(state: LearnerState, held: HeldSamples, place: int) -> Backcast | None:
    """Readings of an entity from before it joined; None: it has a history, or others do not tell.

    Args:
        state: Of the learner.
        held: Everything held of the past.
        place: Column of the entity.
    """
    own = (each for each in current_first_steps(state) if each.entity == state.names[place])
    first = next(own, None)
    if first is None or not state.frame.settings.backcast:
        return None
    held = _usable(state, held, place)
    rows = _open_rows(held, place, first)
    regression = _fit_regression(state, held, place, rows)
    if regression is None:
        return None
    y, lagged = np.full(len(held.at), np.nan, np.float32), held.lagged[:, place].copy()
    low, high = float(state.limits.low[place]), float(state.limits.high[place])
    y[rows] = np.clip(regression.reconstruct(held.y[rows].astype(np.float64)), low, high)
    for column in range(lagged.shape[1]):
        past = regression.reconstruct(held.lagged[rows, :, column].astype(np.float64))
        lagged[rows, column] = lag_inputs(np.clip(past, low, high))
    return Backcast(y, lagged)


def _usable(state: LearnerState, held: HeldSamples, place: int) -> HeldSamples:
    """Samples held, without readings of other entities from before their past was left out."""
    day, versions = state.frame.schedule.clock.day, state.ensemble.versions
    out = np.stack([left_out(version.breaks, held.at, day) for version in versions], axis=1)
    out[:, place] = False
    if not out.any():
        return held
    y, lagged = held.y.copy(), held.lagged.copy()
    y[out], lagged[out] = np.nan, np.nan
    return replace(held, y=y, lagged=lagged)


def _open_rows(held: HeldSamples, place: int, first: FirstStep) -> Int64Array:
    """Samples from before an entity joined, without its reading, that nobody has excluded."""
    before = (held.at < first.step) & np.isnan(held.y[:, place])
    return np.flatnonzero(before & ~np.isin(held.at, first.excluded))


def _fit_regression(
    state: LearnerState, held: HeldSamples, place: int, rows: Int64Array
) -> ReadingRegression | None:
    """The regression that can reconstruct readings in some rows; None: it tells too little."""
    version, day = state.ensemble.versions[place], state.frame.schedule.clock.day
    used = np.isfinite(held.y[:, place]) & ~left_out(version.breaks, held.at, day)
    readings = HeldReadings(held.at, held.y.astype(np.float64))
    others = _others(state, held, place, rows)
    found = ReadingRegression.fit(readings, used, place, others, least=LEAST_DAYS * day)
    if found is None or not len(rows):
        return None
    measured = readings.y[found.tested, place]
    most = LARGEST_SHARE * _mean_distance(measured, measured.mean())
    if version.fleet:
        networks = Ensemble(state.frame.architecture, (version,))
        forecast = networks.mean_forecast(held.seen[found.tested])[:, 0]
        most = min(most, LARGEST_ERROR * _mean_distance(measured, forecast))
    return found if found.error <= most else None


def _others(state: LearnerState, held: HeldSamples, place: int, rows: Int64Array) -> Int64Array:
    """Entities that are measured lately and in most of some rows."""
    silence = state.boundary - state.progress.measured
    lately = silence < SILENT_DAYS * state.frame.schedule.clock.day
    often = np.isfinite(held.y[rows]).sum(axis=0) >= LEAST_PAST * len(rows)
    return np.setdiff1d(np.flatnonzero(lately & often), [place])


def _mean_distance(values: Float64Array, other: Float64Array | float) -> float:
    return float(np.abs(values - other).mean())
