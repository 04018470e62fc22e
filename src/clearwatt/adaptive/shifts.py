"""Shifts of trust from one kind of expert to another, and their causes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from clearwatt.adaptive.events import TrustShift
from clearwatt.adaptive.kinds import KINDS
from clearwatt.adaptive.levels import power_now
from clearwatt.adaptive.state import LearnerState
from clearwatt.arrays import Float64Array
from clearwatt.clock import HOURS_PER_DAY

MARGIN = 0.1
"""Lead in trust that a new kind needs; avoids frequent changes."""
LEAST_BIAS = 0.05
"""Smallest bias that is reported as a cause, as a share of the measurements."""


def shifts_of_trust(state: LearnerState) -> tuple[LearnerState, list[TrustShift]]:
    """The state with the kinds of experts that lead now, and an event for each that is new."""
    weights = state.past[-1].weights @ state.frame.membership
    places = np.arange(len(weights))
    before, best = state.progress.leader, weights.argmax(axis=1)
    moved = weights[places, best] > weights[places, before] + MARGIN
    if not moved.any():
        return state, []
    leader = np.where(moved, best, before)
    shifts = [
        _event(state, int(place), weights[place], int(before[place]))
        for place in np.flatnonzero(moved)
    ]
    return state._replace(progress=replace(state.progress, leader=leader)), shifts


def _event(state: LearnerState, place: int, weights: Float64Array, old: int) -> TrustShift:
    best = int(weights.argmax())
    bias, hours = _bias(state, place)
    return TrustShift(
        entity=state.names[place],
        step=state.boundary,
        expert=KINDS[best],
        weight=float(weights[best]),
        before=KINDS[old],
        bias=bias,
        hours=hours,
    )


def _bias(state: LearnerState, place: int) -> tuple[float | None, tuple[float, float] | None]:
    """Mean error of the networks, as a share, in the hours where it is largest."""
    day = state.frame.schedule.clock.day
    recent = state.recent
    errors = recent.slow[:, place] - recent.measured[:, place]
    known = np.isfinite(errors)
    if not known.any():
        return None, None
    bins = recent.at[known] % day * min(day, HOURS_PER_DAY) // day
    sums = np.bincount(bins, errors[known], minlength=min(day, HOURS_PER_DAY))
    peak = int(np.abs(sums).argmax())
    strong = sums * np.sign(sums[peak]) > np.abs(sums[peak]) / 2
    low = high = peak
    while low > 0 and strong[low - 1]:
        low -= 1
    while high + 1 < len(sums) and strong[high + 1]:
        high += 1
    own = known.copy()
    own[known] = (bins >= low) & (bins <= high)
    power = power_now(state)
    scale, mean = power.scale[place], power.mean[place]
    total = float((recent.measured[own, place] * scale + mean).sum())
    share = float(errors[own].sum()) * scale / total if total else 0.0
    if not LEAST_BIAS <= abs(share) < float("inf"):
        return None, None
    hour = HOURS_PER_DAY / len(sums)
    return share, (low * hour, (high + 1) * hour)
