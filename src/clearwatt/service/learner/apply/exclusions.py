"""Windows that entities do not learn from: set, and undone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from clearwatt.arrays import BoolArray
from clearwatt.service.learner.apply.intake import LateReadings
from clearwatt.service.learner.apply.learning import in_range, learn_past_readings
from clearwatt.service.learner.apply.outcome_builder import OutcomeBuilder
from clearwatt.service.learner.apply.weather import NEIGHBOURHOOD, LatestWeather
from clearwatt.service.learner.apply.zone_state import WHOLE_ZONE, ZoneState
from clearwatt.service.records import Flag, StoredSeries
from clearwatt.service.status import ExcludedWindow
from clearwatt.service.store import Store
from clearwatt.training.streams import Stream


def exclude(state: ZoneState, builder: OutcomeBuilder, name: str, window: ExcludedWindow) -> int:
    """Forget a window of an entity or of the whole zone; returns how many samples were held."""
    state.exclusions.setdefault(name, []).append(window)
    names = _entities(state, name)
    if state.models is None or not names:
        return 0
    count, moments = state.models.forget(
        None if name == WHOLE_ZONE else names, window.start, window.end
    )
    for each in names:
        for moment in moments:
            builder.add_flag(each, int(moment), Flag.EXCLUDED, "in an excluded window")
    columns = np.array([state.columns.index(each) for each in names], np.int64)
    state.intervals.forget(columns, window.start, window.end)
    return count


def include(
    state: ZoneState,
    builder: OutcomeBuilder,
    store: Store,
    name: str,
    window: ExcludedWindow,
) -> Stream[int]:
    """Undo an exclusion: learn its readings as if they came late; returns how many.

    Args:
        state: The zone.
        builder: Takes the flags of the readings.
        store: Has the readings and the weather.
        name: The entity, or the key of the whole zone.
        window: The window to undo.
    """
    state.exclusions[name].remove(window)
    if not state.exclusions[name]:
        del state.exclusions[name]
    parts = [_readings(state, builder, store, each, window) for each in _entities(state, name)]
    if not parts:
        return 0
    late = LateReadings(*(np.concatenate(column) for column in zip(*parts, strict=True)))
    weather = LatestWeather(state.zone.variables)
    around = window.start - NEIGHBOURHOOD, window.end + NEIGHBOURHOOD
    for issue in store.weather(state.zone.id, start=around[0], end=around[1], until=state.position):
        weather.add(issue)
    yield from learn_past_readings(state, builder, late, weather=weather)
    return len(late.times)


def _entities(state: ZoneState, name: str) -> Sequence[str]:
    """The entities that learn among those of an exclusion."""
    return state.columns if name == WHOLE_ZONE else [each for each in state.columns if each == name]


def _readings(
    state: ZoneState, builder: OutcomeBuilder, store: Store, name: str, window: ExcludedWindow
) -> LateReadings:
    """The readings of a window that may be learned again, flagged as released.

    Rows that are still open are learned when they close.
    """
    column, quarantined = state.columns.index(name), state.quarantined.get(name, {})
    stored = store.readings(
        state.entities[name].number, start=window.start, end=_end_of_closed(state, window)
    )
    free = ~state.exclusion_mask(name, stored.times)
    for moment in stored.times[free & np.isin(stored.times, list(quarantined))]:
        builder.add_flag(name, int(moment), Flag.QUARANTINED, "was in quarantine when excluded")
    fit = free & _usable(state, column, stored) & ~np.isin(stored.times, list(quarantined))
    times = stored.times[fit]
    for moment in times:
        builder.add_flag(name, int(moment), Flag.RELEASED, "its exclusion was undone")
    values = stored.values[fit].astype(np.float32)
    return LateReadings(np.full(len(times), column, np.int64), times, values)


def _end_of_closed(state: ZoneState, window: ExcludedWindow) -> int:
    return window.end if state.rows is None else min(window.end, state.rows.next)


def _usable(state: ZoneState, column: int, stored: StoredSeries) -> BoolArray:
    plausible = [in_range(state, column, float(value)) for value in stored.values]
    return np.asarray(np.array(plausible, np.bool_) & (stored.flags != Flag.DROPPED), np.bool_)
