"""Forecasts of ended days as they were issued some steps after the last known measurement."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from clearwatt.adaptive.lead_corrections import CorrectedForecast
from clearwatt.adaptive.lead_errors import ErrorHistory
from clearwatt.adaptive.learning import days_ended, errors_since, in_force
from clearwatt.adaptive.levels import to_power
from clearwatt.adaptive.state import LearnerState
from clearwatt.arrays import Float64Array
from clearwatt.clock import Steps


class LeadForecasts(NamedTuple):
    """Forecasts of `n` steps, each from `b` distances to the last known measurement."""

    at: Steps
    """Steps, `n`."""
    power: Float64Array
    """`b x n x e`; NaN beyond the delay, because forecasts are never issued earlier."""
    day_ahead: Float64Array
    """Forecasts without what was measured within the delay, `n x e`."""
    spread: Float64Array
    """Usual error as a share of that of ``day_ahead``, `b x n x e`."""
    measured: Float64Array
    """`n x e`; NaN where there is none."""


def lead_forecasts(
    state: LearnerState, boundary: int, distances: Sequence[int]
) -> LeadForecasts | None:
    """Forecasts of the days that end before a step, as issued; None if no day ends.

    They start from the forecasts of a delay before, as the corrections by lead are learned.

    Args:
        state: With every forecast recalled, before it learns from these days.
        boundary: First step after a period.
        distances: Steps from the last known measurement to the step that is forecast, `b`.
    """
    rows = days_ended(state, boundary)
    if rows.start == rows.stop or not distances:
        return None
    recent, clock = state.recent, state.frame.schedule.clock
    at, power = recent.at[rows], recent.power[rows]
    history = errors_since(state, int(at[0]) - max(distances) - 2 * clock.day)
    found = [_issued(state, power, at, history, distance=each) for each in distances]
    return LeadForecasts(
        at,
        np.stack([to_power(state, at, each.power) for each in found]),
        to_power(state, at, power),
        np.stack([each.spread for each in found]),
        to_power(state, at, recent.measured[rows]),
    )


def _issued(
    state: LearnerState, power: Float64Array, at: Steps, history: ErrorHistory, *, distance: int
) -> CorrectedForecast:
    """Forecasts (n x e) that know measurements up to a distance before their steps."""
    corrected, spread = power.copy(), np.ones_like(power)
    delay = state.frame.schedule.clock.delay
    if distance > delay:  # not issued: forecasts know what was measured a delay before
        return CorrectedForecast(np.full_like(power, np.nan), spread)
    if distance < delay:
        for experts, own in in_force(state.past, at - distance):
            if experts.leads is None:
                continue
            issued = at[own] - distance
            ahead = np.full(len(at[own]), distance)
            found = experts.leads.correct(
                power[own], ahead, history.known_at(issued), history.day_before(at[own], issued)
            )
            corrected[own], spread[own] = experts.limits.clip(found.power), found.spread
    return CorrectedForecast(corrected, spread)
