"""Trust where past measurements are missing: the experts that repeat them do not count then.

After a silence, there is no measurement of the same weekday for a week. Its expert forecasts what
the networks do, and the trust that it had earned would go to them.
"""

from __future__ import annotations

import numpy as np

from clearwatt.adaptive.settings import SAME_HOUR
from clearwatt.adaptive.state import LearnerState
from clearwatt.adaptive.terms import PERSISTENCES
from clearwatt.adaptive.trust import SETTLING, least_on_simplex
from clearwatt.arrays import BoolArray, Float64Array


def trust_in_available(state: LearnerState) -> Float64Array:
    """Trust in each expert, `e x k`; 0 in those without measurements to repeat."""
    missing = _missing(state)
    weights = state.trust.weights
    if not missing.any():
        return weights
    weights = weights.copy()
    first = state.frame.settings.experts.index(SAME_HOUR)
    for place in np.flatnonzero(missing.any(axis=1)):
        there = np.ones(weights.shape[1], np.bool_)
        there[first : first + PERSISTENCES] = ~missing[place]
        weights[place] = _solve(state, int(place), there)
    return weights


def _missing(state: LearnerState) -> BoolArray:
    """Whether a whole day of the past measurements of a kind is missing, `e x 2`."""
    recent, clock = state.recent, state.frame.schedule.clock
    found = []
    for period in (clock.same_hour, clock.same_weekday):
        end = state.boundary + clock.delay - period + clock.day
        rows = slice(*recent.at.searchsorted([end - clock.day, end]).tolist())
        known = np.isfinite(recent.measured[rows]).any(axis=0)
        found.append(np.asarray(~known & (rows.stop > rows.start), np.bool_))
    return np.stack(found, axis=1)


def _solve(state: LearnerState, place: int, there: BoolArray) -> Float64Array:
    """Weights of an entity's experts of which some are not there, `k`."""
    trust = state.trust
    products = trust.products[place][np.ix_(there, there)] + trust.caution * np.eye(there.sum())
    own = trust.weights[place, there][None]
    for _ in range(SETTLING):
        own = least_on_simplex(products[None], own)
    weights = np.zeros(len(there))
    weights[there] = own[0]
    return weights
