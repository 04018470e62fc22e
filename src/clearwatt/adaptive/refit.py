"""Corrections fitted again after an update, to the residuals of the new networks.

Corrections have learned what the networks before the update missed. Most updates change little of
that. Those of an entity that started from a fleet prior do: what its networks learn of the entity
would be corrected a second time.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from clearwatt.adaptive.breaks import left_out
from clearwatt.adaptive.corrections import Corrections
from clearwatt.adaptive.ensemble import Ensemble, NetworkVersion
from clearwatt.adaptive.fast_part import moved
from clearwatt.adaptive.recent import LagRows
from clearwatt.adaptive.state import LearnerState
from clearwatt.adaptive.terms import lags_of, terms_of
from clearwatt.adaptive.updates import HeldSamples
from clearwatt.arrays import Float64Array

DENSE = 0.9
"""Least share of the steps since an entity's first sample that must be held to fit on them."""


def refit_corrections(
    state: LearnerState, place: int, version: NetworkVersion, held: HeldSamples
) -> LearnerState:
    """The state with corrections of one entity that fit other networks on all that is held.

    It stays as it is where only some of the past is held: terms that look a day or a week back
    would find nothing there, and each sample left would count as one.
    """
    clock, old = state.frame.schedule.clock, state.corrections
    used = np.isfinite(held.y[:, place]) & (held.at < state.boundary)
    used &= ~left_out(version.breaks, held.at, clock.day)
    order = np.flatnonzero(used)[np.argsort(held.at[used], kind="stable")]
    at, y = held.at[order], held.y[order, place, None].astype(np.float64)
    if not len(at):
        return state
    rows_held = int(((held.at >= at[0]) & (held.at < state.boundary)).sum())
    if rows_held < DENSE * (state.boundary - at[0]):
        return state
    slow: Float64Array = Ensemble(state.frame.architecture, (version,)).mean_forecast(
        held.seen[order]
    )
    rows = LagRows(at, np.empty((len(at), 0)), slow, y)
    terms = terms_of(slow, at, lags_of(at, rows, state.limits.select([place]), clock), clock)
    empty = Corrections.empty(old.kinds, day=old.day, ridge=old.ridge, entities=1)
    ages = (state.boundary - at).astype(np.float64)
    new = empty.learn(terms, y - slow, ages=ages, passed=0.0)
    corrections = replace(
        old,
        moments=moved(old.moments, new.moments, 0, place, axis=1),
        products=moved(old.products, new.products, 0, place, axis=1),
    )
    return state._replace(corrections=corrections)
