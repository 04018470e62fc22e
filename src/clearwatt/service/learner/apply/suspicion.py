"""Meters that seem to lie: their readings go to quarantine, and what was learned is undone.

`clearwatt.data.suspicion` judges each day of a meter. A suspicion begins with the reading from
which on the meter lies. It ends when a day is as expected again, or when a person confirms that
the readings are real.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from clearwatt.arrays import BoolArray, Float32Array
from clearwatt.clock import SECONDS_PER_DAY
from clearwatt.data.suspicion import Lie, MeterWatch, Verdict
from clearwatt.errors import StateError
from clearwatt.service.learner.apply.intake import LateReadings
from clearwatt.service.learner.apply.outcome_builder import OutcomeBuilder
from clearwatt.service.learner.apply.zone_state import Suspicion, ZoneState
from clearwatt.service.records import Flag, StoredVersion
from clearwatt.service.times import Times
from clearwatt.service.times import text as written


def watch_meters(
    state: ZoneState,
    builder: OutcomeBuilder,
    times: Times,
    x: Float32Array,
    readings: Float32Array,
) -> LateReadings:
    """Judge meters by closed rows of one day; returns readings that are trusted after all.

    Args:
        state: The zone.
        builder: Takes events and flags.
        times: Of the rows, `n`.
        x: Their inputs, `n x d`; NaN without weather.
        readings: In the unit of power, `n x entities`, implausible ones included.
    """
    released = [_take(state, 0, set())]
    if state.settings.suspicion == "off" or state.models is None or not len(times):
        return released[0]
    watch = _watch_of(state)
    now, day = int(times[0]), int(times[0]) // SECONDS_PER_DAY
    for verdict in watch.observe(times, x, _comparable(state, times, readings)):
        if verdict.lie is Lie.NONE:
            released.append(_end(state, builder, verdict))
        else:
            _begin(state, builder, verdict, now=now)
    if day != state.day:
        state.models.note_day(now)
        state.intervals.note_day(now)
        state.day = day
    return LateReadings(
        np.concatenate([each.columns for each in released]),
        np.concatenate([each.times for each in released]),
        np.concatenate([each.values for each in released]),
    )


def learn_history(
    state: ZoneState, count: int, times: Times, x: Float32Array, y: Float32Array
) -> None:
    """Let the watch learn the warm-up of the newest ``count`` entities: scaled power, `n x count`.

    Called when they are the last of the zone's columns.
    """
    if state.settings.suspicion == "off":
        state.watch = None
        return
    known = len(state.columns) - count
    if known and state.watch is None:
        return  # it has seen nothing of the others; all begin together with the next row
    fresh = _new_watch(state, count)
    fresh.learn_history(times, x, y)
    if known and state.watch is not None:
        state.watch.join(fresh)
    else:
        state.watch = fresh


def watch_newcomer(state: ZoneState) -> None:
    """Watch the newest entity, of which there is no history yet."""
    if state.watch is not None:
        state.watch.join(_new_watch(state, 1))


def switch(state: ZoneState) -> int:
    """Apply a changed setting; returns how many suspicions ended with it."""
    ended = len(state.suspicions) if state.settings.suspicion == "off" else 0
    if state.settings.suspicion == "off":
        state.watch, state.day = None, -1
        state.suspicions.clear()
        state.doubted.clear()
    return ended


def suspected_mask(state: ZoneState, times: Times) -> BoolArray:
    """Which readings, `n x entities`, are those of a suspected meter."""
    mask = np.zeros((len(times), len(state.columns)), np.bool_)
    for name, suspicion in state.suspicions.items():
        mask[:, state.columns.index(name)] = times >= suspicion.since
    return mask


def set_aside(
    state: ZoneState, builder: OutcomeBuilder, name: str, readings: Iterable[tuple[int, float]]
) -> int:
    """Put readings (time, value) of a suspected meter into quarantine; returns how many."""
    reason = state.suspicions[name].lie.label
    held, doubted = state.quarantined.setdefault(name, {}), state.doubted.setdefault(name, set())
    count = 0
    for moment, value in readings:
        if moment not in held:
            held[moment] = value
            doubted.add(moment)
            builder.add_flag(name, moment, Flag.QUARANTINED, reason)
            count += 1
    return count


def confirm(state: ZoneState, builder: OutcomeBuilder, name: str, reason: str) -> LateReadings:
    """End a suspicion because the readings are real; returns those to learn from."""
    del state.suspicions[name]
    if state.watch is not None:
        state.watch.confirm(state.columns.index(name))
    taken = _take(state, state.columns.index(name), state.doubted.pop(name, set()))
    for moment in taken.times.tolist():
        builder.add_flag(name, moment, Flag.RELEASED, reason)
    return taken


def _watch_of(state: ZoneState) -> MeterWatch:
    if state.watch is None:
        state.watch = _new_watch(state, len(state.columns))
    return state.watch


def _new_watch(state: ZoneState, entities: int) -> MeterWatch:
    assert state.scaling is not None
    columns = state.scaling.columns(state.zone.id)
    return MeterWatch.start(columns, entities, step=state.zone.step)


def _comparable(state: ZoneState, times: Times, readings: Float32Array) -> Float32Array:
    """Scaled readings without those of excluded windows."""
    assert state.scaling is not None
    power = state.scaling.scale_power(readings, state.columns)
    for column, name in enumerate(state.columns):
        power[state.exclusion_mask(name, times), column] = np.nan
    return power


def _begin(state: ZoneState, builder: OutcomeBuilder, verdict: Verdict, *, now: int) -> None:
    """Begin a suspicion, or say better of what kind it is."""
    name = state.columns[verdict.column]
    is_new = name not in state.suspicions
    suspicion = Suspicion(verdict.lie, verdict.time, verdict.size)
    state.suspicions[name] = suspicion
    details: dict[str, Any] = {"suspicion": verdict.lie.label, "since": verdict.time}
    words = f"{name} is suspected: {suspicion.reason}"
    if is_new:
        count = set_aside(state, builder, name, _learned(state, name, verdict.time, now))
        before = _undo(state, builder, name, since=verdict.time, now=now)
        details |= {"readings": count, "models": before}
        words += (
            f" {count} readings went to quarantine, what was learned from them is undone, and it "
            "learns nothing until its readings are as expected again or a person confirms them"
        )
    builder.event(
        f"suspicion:{name}:{now}:{verdict.lie.name}",
        "suspicion",
        words,
        entity=name,
        time=verdict.time,
        details=details,
    )


def _learned(state: ZoneState, name: str, start: int, end: int) -> list[tuple[int, float]]:
    """Readings of closed rows with start <= time < end that are not excluded."""
    assert state.rows is not None
    times, values = state.rows.times, state.rows.values[:, state.columns.index(name)]
    chosen = (times >= start) & (times < end) & np.isfinite(values)
    chosen &= ~state.exclusion_mask(name, times)
    return list(zip(times[chosen].tolist(), values[chosen].tolist(), strict=True))


def _undo(
    state: ZoneState, builder: OutcomeBuilder, name: str, *, since: int, now: int
) -> list[str]:
    """Undo what was learned of an entity since a time; returns the versions put into service."""
    assert state.models is not None
    state.models.forget([name], since, now)
    column = np.array([state.columns.index(name)], np.int64)
    state.intervals.forget(column, since, now)
    versions = [
        version
        for key in (f"predictor:{name}", f"autoencoder:{state.zone.id}:{name}")
        if (version := _roll_back(state, builder, key, since)) is not None
    ]
    state.models.restore(name, since)
    state.intervals.go_back(state.columns.index(name), since)
    return versions


def _roll_back(state: ZoneState, builder: OutcomeBuilder, key: str, since: int) -> str | None:
    """Put the version that was in service before a time into service again, if another is now."""
    models, served = state.models, state.served.get(key, [])
    assert models is not None
    waiting = state.awaiting.get(key)
    if models.candidate(key) is not None and waiting is not None and _trained(waiting) >= since:
        models.drop_candidate(key)
        builder.versions.append(replace(waiting, status="refused"))
    now = next((each for each in served[::-1] if each.id == state.deployed.get(key)), None)
    if now is None or _trained(now) < since:
        return None
    before = next((each for each in served[::-1] if _trained(each) < since), None)
    if before is None:
        return None
    try:
        models.activate(key, builder.files.read(before.path), state.intervals)
    except StateError:
        return None  # its files are gone; the networks in service stay
    builder.activate(key, before.id)
    builder.versions.append(replace(before, status="deployed"))
    state.note_served(before)
    return before.id


def _trained(version: StoredVersion) -> float:
    """Time of the newest reading that a version was trained on."""
    return -np.inf if version.time is None else version.time


def _end(state: ZoneState, builder: OutcomeBuilder, verdict: Verdict) -> LateReadings:
    """End a suspicion; returns the readings since the repair, which are learned after all."""
    name = state.columns[verdict.column]
    suspicion = state.suspicions.pop(name, None)
    doubted = state.doubted.pop(name, set())
    taken = _take(state, verdict.column, {each for each in doubted if each >= verdict.time})
    if suspicion is None:
        return taken
    for moment in taken.times.tolist():
        builder.add_flag(name, moment, Flag.ACCEPTED)
    left = len(doubted) - len(taken.times)
    builder.event(
        f"suspicion ended:{name}:{verdict.time}",
        "suspicion ended",
        f"readings of {name} are as expected again and are learned from "
        f"{written(verdict.time)} on; {left} readings before stay in quarantine: release or drop "
        "them",
        entity=name,
        time=verdict.time,
        details={"suspicion": suspicion.lie.label, "since": suspicion.since, "left": left},
    )
    return taken


def _take(state: ZoneState, column: int, moments: set[int]) -> LateReadings:
    """Take readings out of quarantine, where they still are."""
    held = state.quarantined.get(state.columns[column], {})
    taken = sorted(moment for moment in moments if moment in held)
    values = [held.pop(moment) for moment in taken]
    return LateReadings(
        np.full(len(taken), column, np.int64),
        np.array(taken, np.int64),
        np.array(values, np.float32),
    )
