"""Jumps: readings that leave everything learned at once, as when a feeder is switched over.

Trust follows errors of forecasts as issued. After a jump it learns with a delay, and a second one
passes until it sees that an expert has followed. Until then the last known day is forecast.
"""

from __future__ import annotations

import numpy as np

from clearwatt.adaptive.change_watch import RUNS
from clearwatt.adaptive.missing_lags import trust_in_available
from clearwatt.adaptive.settings import SAME_HOUR
from clearwatt.adaptive.state import LearnerState
from clearwatt.arrays import BoolArray, Float64Array
from clearwatt.clock import Steps


def find_jumps(
    state: LearnerState,
    boundary: int,
    at: Steps,
    experts: Float64Array,
    measured: Float64Array,
) -> Float64Array:
    """Distance from the mixture by which entities have jumped in a period, `e`; NaN: no jump.

    In a jump, all readings of the period lie on one side of the mixture, each by several times its
    usual error before the jump. With fewer readings than half a period the answer is the last one,
    for at most a day.

    Args:
        state: Before these readings are learned.
        boundary: First step after the period, which began at the boundary before.
        at: Steps of readings, `n`.
        experts: Their forecasts as issued, `n x e x k`.
        measured: The readings, `n x e`; NaN where there is none.
    """
    limit, refresh = state.frame.settings.fast.jump, state.frame.schedule.refresh
    if limit is None:
        return np.full(len(state.names), np.nan)
    last = slice(int(at.searchsorted(state.boundary)), None)
    errors = measured[last] - (experts[last] * state.trust.weights).sum(axis=2)
    # A jump's own errors must not end it, so its limit stays.
    going_on = np.isfinite(state.jumps)
    least = np.where(going_on, state.jumps, limit * state.trust.usual_error)
    # The minimum and the maximum of the errors that are known.
    lowest = np.fmin.reduce(errors, axis=0, initial=np.inf)
    highest = np.fmax.reduce(errors, axis=0, initial=-np.inf)
    jumps: Float64Array = np.where((lowest > least) | (highest < -least), least, np.nan)
    enough = 2 * np.isfinite(errors).sum(axis=0) >= refresh
    if enough.all():
        return jumps
    return np.where(enough, jumps, np.where(_measured_lately(state, boundary), state.jumps, np.nan))


def _measured_lately(state: LearnerState, boundary: int) -> BoolArray:
    """Which entities have readings of the day before a step, `e`."""
    rows = state.recent.at >= boundary - state.frame.schedule.clock.day
    return np.asarray(np.isfinite(state.recent.measured[rows]).any(axis=0), np.bool_)


def weights_in_force(state: LearnerState) -> Float64Array:
    """Trust in each expert, `e x k`; after a jump or at a standstill, all in the last day."""
    jumped = np.isfinite(state.jumps) | (state.watch.standing != RUNS)
    weights = trust_in_available(state)
    if not jumped.any():
        return weights
    only = np.zeros(weights.shape[1])
    only[state.frame.settings.experts.index(SAME_HOUR)] = 1.0
    return np.where(jumped[:, None], only, weights)
