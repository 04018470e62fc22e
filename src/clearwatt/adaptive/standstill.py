"""Standstill: a plant that is off is not a plant that has changed.

While it stands still, the last known day is forecast and nothing is learned. When it runs again,
the readings of the standstill are forgotten, and the model from before it serves.
"""

from __future__ import annotations

import numpy as np

from clearwatt.adaptive.change_events import Standstill
from clearwatt.adaptive.change_watch import RUNS
from clearwatt.adaptive.fast_restoration import with_fast_part
from clearwatt.adaptive.levels import power_of
from clearwatt.adaptive.settings import ChangeSettings
from clearwatt.adaptive.state import LearnerState
from clearwatt.arrays import BoolArray, Float64Array

NEAR_ZERO = 0.005
"""Power that counts as none, as a share of the largest that the entity has had."""
NEVER = 1e-6
"""Power, in units of it, up to which an entity has never had any."""
EXPECTED = 0.1
"""Mean forecast during a standstill, as a share of the largest power."""
LARGE = 2.0
"""The same in usual errors of the networks."""
RUNNING = 3
"""Readings of a period with power that end a standstill; half of the period if it is shorter."""


def may_stand_still(state: LearnerState, among: BoolArray | None = None) -> BoolArray:
    """Entities that have been off for a day although power was forecast, `e`.

    Args:
        state: Of the learner.
        among: The entities that are asked about, `e`; None: all.
    """
    day, entities = state.frame.schedule.clock.day, len(state.names)
    found = np.ones(entities, np.bool_) if among is None else among.copy()
    for place in np.flatnonzero(found).tolist():
        found[place] = _off_since(state, place, day) is not None
    return found


def find_standstill(state: LearnerState, place: int, settings: ChangeSettings) -> int | None:
    """First step of a standstill of an entity that the last days show; None: none."""
    return _off_since(state, place, round(settings.still_days * state.frame.schedule.clock.day))


def _off_since(state: LearnerState, place: int, span: int) -> int | None:
    """First step without power, if all readings of a span are so while power was forecast."""
    if _has_power(state, place, span):
        return None
    recent, first = state.recent, int(state.recent.at.searchsorted(state.boundary - span))
    newest = first + np.flatnonzero(np.isfinite(recent.measured[first:, place]))
    if 2 * len(newest) < span or not is_off(state, place, recent.measured[newest, place]).all():
        return None
    (mean, scale), largest = power_of(state, place), _largest_power(state, place)
    forecast = recent.slow[newest, place] * scale + mean
    usual = state.ensemble.versions[place].error * scale
    expected = float(np.nanmean(np.abs(forecast))) if np.isfinite(forecast).any() else 0.0
    if not largest > NEVER or not expected > max(EXPECTED * largest, LARGE * usual):
        return None
    own = np.flatnonzero(np.isfinite(recent.measured[:, place]))
    running = np.flatnonzero(~is_off(state, place, recent.measured[own, place]))
    start = int(running[-1]) + 1 if len(running) else 0
    return int(recent.at[own[start]])


def _has_power(state: LearnerState, place: int, span: int) -> bool:
    """Whether the newest row of a span is a reading with power: a cheap test before the others."""
    recent, (mean, scale) = state.recent, power_of(state, place)
    if not recent.size or recent.at[-1] < state.boundary - span:
        return False
    newest = abs(float(recent.measured[-1, place]) * scale + mean)
    return newest > NEAR_ZERO * _largest_power(state, place)


def is_off(state: LearnerState, place: int, measured: Float64Array) -> BoolArray:
    """Which readings, `n`, are so near to 0 that the entity is off."""
    mean, scale = power_of(state, place)
    values = np.abs(measured * scale + mean)
    return np.asarray(values <= NEAR_ZERO * _largest_power(state, place), np.bool_)


def begin_standstill(
    state: LearnerState, place: int, since: int
) -> tuple[LearnerState, Standstill]:
    """The state that forecasts as if the entity stays off, and the event."""
    name = state.names[place]
    if state.earlier is not None and name in state.earlier.names:
        state = with_fast_part(state, state.earlier, name)
    # Forecasts are clipped to the range, which must contain the readings of a standstill.
    own = np.full_like(state.recent.measured, np.nan)
    rows = state.recent.at >= since
    own[rows, place] = state.recent.measured[rows, place]
    watch, limits = state.watch.stand(place, since), state.limits.widen(own)
    state = state._replace(watch=watch, limits=limits)
    return state, Standstill(name, state.boundary, since, ended=False)


def end_standstills(state: LearnerState) -> tuple[LearnerState, list[Standstill]]:
    """The state in which entities that have power again run, and an event for each."""
    events = []
    for place in state.watch.standing_places:
        back = _first_power(state, place)
        if back is not None:
            since = int(state.watch.standing[place])
            state = _without_readings(state, place, since, back)
            watch = state.watch.stand(place, RUNS).examine_from(place, back)
            state = state._replace(watch=watch)
            events.append(Standstill(state.names[place], back, since, ended=True))
    return state, events


def forget_standstills(state: LearnerState, before: LearnerState) -> LearnerState:
    """The state in which entities run whose standstill only readings have shown that are forgotten.

    Args:
        state: Without these readings.
        before: With them.
    """
    settings, watch = state.frame.settings.changes, state.watch
    if settings is None:
        return state
    least = settings.still_days * state.frame.schedule.clock.day / 2
    for place in np.flatnonzero(watch.standing != RUNS).tolist():
        held, had = (_readings_since(each, place) for each in (state, before))
        if held < had and held < least:
            watch = watch.stand(place, RUNS)
    return state._replace(watch=watch)


def _readings_since(state: LearnerState, place: int) -> int:
    """Readings held since the standstill of an entity began."""
    recent = state.recent
    return int(np.isfinite(recent.measured[recent.at >= state.watch.standing[place], place]).sum())


def _first_power(state: LearnerState, place: int) -> int | None:
    """First step of the period that has ended from which on there is power; None: there is none."""
    refresh, recent = state.frame.schedule.refresh, state.recent
    own = np.flatnonzero(
        (recent.at >= state.boundary - refresh) & np.isfinite(recent.measured[:, place])
    )
    on = own[~is_off(state, place, recent.measured[own, place])]
    if not len(on) or len(on) < min(RUNNING, (refresh + 1) // 2):
        return None
    return int(recent.at[on[0]])


def _without_readings(state: LearnerState, place: int, start: int, end: int) -> LearnerState:
    recent = state.recent
    measured = recent.measured.copy()
    measured[(recent.at >= start) & (recent.at < end), place] = np.nan
    return state._replace(recent=recent._replace(measured=measured))


def _largest_power(state: LearnerState, place: int) -> float:
    """Largest power, up or down, that the entity has had."""
    mean, scale = power_of(state, place)
    ends = (float(each[place]) for each in (state.limits.low, state.limits.high))
    return max(abs(end * scale + mean) for end in ends)
