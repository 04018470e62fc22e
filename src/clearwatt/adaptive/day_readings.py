"""Readings and the networks' forecasts of past days, with one cell for each step of a day."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clearwatt.adaptive.state import LearnerState
from clearwatt.arrays import BoolArray, Float64Array, Int64Array
from clearwatt.clock import DAYS_PER_WEEK


class DayReadings(NamedTuple):
    """Readings of `a` consecutive or chosen days, the newest last, in deviations."""

    measured: Float64Array
    """`a x day x e`."""
    forecast: Float64Array
    """The networks' mean forecast as issued, `a x day x e`."""
    errors: Float64Array
    """Absolute errors of the forecasts, `a x day x e`."""
    known: BoolArray
    """Whether there are a reading and a forecast, and no standstill that goes on, `a x day x e`."""

    counts: Int64Array
    """Number of known readings, `a x e`."""

    def pick(self, days: slice) -> DayReadings:
        """Those of some of the days, not copied."""
        return DayReadings._make(each[days] for each in self)


def last_week(state: LearnerState, end: int) -> DayReadings:
    """Readings of the seven days before a step."""
    day, recent, entities = state.frame.schedule.clock.day, state.recent, len(state.names)
    steps, shape = DAYS_PER_WEEK * day, (DAYS_PER_WEEK, day, entities)
    rows = slice(*recent.at.searchsorted([end - steps, end]).tolist())
    both = recent.measured[rows], recent.slow[rows]
    if rows.stop - rows.start < steps:  # some steps have no row
        places = recent.at[rows] - (end - steps)
        both = _spread_out(both[0], places, steps), _spread_out(both[1], places, steps)
    measured, forecast = both[0].reshape(shape), both[1].reshape(shape)
    errors = np.abs(measured - forecast)
    known = np.isfinite(errors)
    if state.watch.standing_places:
        known &= ~state.watch.standing_at(np.arange(end - steps, end)).reshape(shape)
    return DayReadings(measured, forecast, errors, known, known.sum(axis=1))


def _spread_out(values: Float64Array, places: Int64Array, steps: int) -> Float64Array:
    """Values, `n x e`, at their places among all steps; NaN elsewhere."""
    found = np.full((steps, values.shape[1]), np.nan)
    found[places] = values
    return found
