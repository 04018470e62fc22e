"""Windows that entities do not learn from: set, and undone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from clearwatt.arrays import BoolArray
from clearwatt.errors import StateError
from clearwatt.service.learner.apply.intake import LateReadings
from clearwatt.service.learner.apply.learning import in_range, learn_past_readings
from clearwatt.service.learner.apply.outcome_builder import OutcomeBuilder
from clearwatt.service.learner.apply.weather import NEIGHBOURHOOD, LatestWeather
from clearwatt.service.learner.apply.zone_state import WHOLE_ZONE, ZoneState
from clearwatt.service.records import Flag, StoredSeries
from clearwatt.service.status import ExcludedWindow
from clearwatt.service.store import Store
from clearwatt.training.streams import Stream


def exclude(
    state: ZoneState, builder: OutcomeBuilder, name: str, window: ExcludedWindow
) -> Stream[int]:
    """Forget a window of an entity or of the whole zone; returns how many samples were held.

    Networks that have learned it are trained again from what is still held. Corrections and trust
    go back to a day before it, where one is kept.
    """
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
    for each in names if len(moments) else ():
        yield from _unlearn(state, builder, each, window)
    return count


def _unlearn(
    state: ZoneState, builder: OutcomeBuilder, name: str, window: ExcludedWindow
) -> Stream[None]:
    """Undo what the model of an entity has learned of a window."""
    models, key = state.models, f"predictor:{name}"
    assert models is not None
    served = state.served.get(key, [])
    now = next((each for each in served[::-1] if each.id == state.deployed.get(key)), None)
    if models.goes_back(name, window.start):
        models.restore(name, window.start)
    if now is not None and now.time is not None and now.time < window.start:
        return  # trained before the window
    older = (each for each in served[::-1] if each.time is not None and each.time < window.start)
    before = next(older, None)
    try:
        saved = None if before is None else builder.files.read(before.path)
    except StateError:
        saved = None  # its files are gone
    units = {each: state.unit(each) for each in state.columns}
    changes = yield from models.retrain(name, saved, units)
    for change in changes:
        builder.change(change)


class Inclusion(NamedTuple):
    """An exclusion to be undone."""

    name: str
    """The entity, or the key of the whole zone."""
    window: ExcludedWindow
    readings: Mapping[str, StoredSeries]
    """Those of the window when the command was given, by entity."""


def include(
    state: ZoneState, builder: OutcomeBuilder, store: Store, undone: Inclusion
) -> Stream[int]:
    """Undo an exclusion: learn its readings as if they came late; returns how many.

    Args:
        state: The zone.
        builder: Takes the flags of the readings.
        store: Has the weather.
        undone: What to undo.
    """
    name, window, readings = undone
    state.exclusions[name].remove(window)
    if not state.exclusions[name]:
        del state.exclusions[name]
    parts = [
        _released(state, builder, each, _closed(state, readings[each]))
        for each in _entities(state, name)
        if each in readings
    ]
    if not parts:
        return 0
    late = LateReadings(*(np.concatenate(column) for column in zip(*parts, strict=True)))
    weather = weather_between(state, store, window.start, window.end)
    yield from learn_past_readings(state, builder, late, weather=weather)
    return len(late.times)


def weather_between(state: ZoneState, store: Store, start: int, end: int) -> LatestWeather:
    """The weather of start <= time < end and what is needed around it, as known by now."""
    weather = LatestWeather(state.zone.variables)
    around = start - NEIGHBOURHOOD, end + NEIGHBOURHOOD
    for issue in store.weather(state.zone.id, start=around[0], end=around[1], until=state.position):
        weather.add(issue)
    return weather


def _entities(state: ZoneState, name: str) -> Sequence[str]:
    """The entities that learn among those of an exclusion."""
    return state.columns if name == WHOLE_ZONE else [each for each in state.columns if each == name]


def _closed(state: ZoneState, stored: StoredSeries) -> StoredSeries:
    """The readings of closed rows; those of open ones are learned when they close."""
    end = len(stored.times)
    if state.rows is not None:
        end = int(np.searchsorted(stored.times, state.rows.next))
    return StoredSeries._make(column[:end] for column in stored)


def _released(
    state: ZoneState, builder: OutcomeBuilder, name: str, stored: StoredSeries
) -> LateReadings:
    """The readings that may be learned again, flagged as released."""
    column, quarantined = state.columns.index(name), state.quarantined.get(name, {})
    free = ~state.exclusion_mask(name, stored.times)
    for moment in stored.times[free & np.isin(stored.times, list(quarantined))]:
        builder.add_flag(name, int(moment), Flag.QUARANTINED, "was in quarantine when excluded")
    fit = free & _usable(state, column, stored) & ~np.isin(stored.times, list(quarantined))
    times = stored.times[fit]
    for moment in times:
        builder.add_flag(name, int(moment), Flag.RELEASED, "its exclusion was undone")
    values = stored.values[fit].astype(np.float32)
    return LateReadings(np.full(len(times), column, np.int64), times, values)


def _usable(state: ZoneState, column: int, stored: StoredSeries) -> BoolArray:
    plausible = [in_range(state, column, float(value)) for value in stored.values]
    return np.asarray(np.array(plausible, np.bool_) & (stored.flags != Flag.DROPPED), np.bool_)
