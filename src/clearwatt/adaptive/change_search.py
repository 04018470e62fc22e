"""What the end of a period shows of changes: standstills, and a past that has become wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from clearwatt.adaptive.breaks import EVERY_DAY, Break, with_break
from clearwatt.adaptive.change import LevelChange, find_level_change
from clearwatt.adaptive.change_days import DayErrors, day_errors, factors_of_days
from clearwatt.adaptive.change_events import PastLeftOut, PastRescaled
from clearwatt.adaptive.change_watch import RUNS
from clearwatt.adaptive.contradiction import Contradiction, find_contradiction, may_contradict
from clearwatt.adaptive.day_readings import DayReadings, last_week
from clearwatt.adaptive.ensemble import NetworkVersion
from clearwatt.adaptive.events import NetworkChange
from clearwatt.adaptive.fast_restoration import keep_fast_part, with_fast_part
from clearwatt.adaptive.first_power import FirstPower, find_first_power
from clearwatt.adaptive.habits import find_habit, may_be_habits
from clearwatt.adaptive.level_return import find_return
from clearwatt.adaptive.levels import with_breaks
from clearwatt.adaptive.standstill import begin_standstill, end_standstills, find_standstill
from clearwatt.adaptive.state import LearnerState
from clearwatt.arrays import BoolArray, Float64Array
from clearwatt.clear.promotion import AWAITING
from clearwatt.clock import DAYS_PER_WEEK
from clearwatt.forecaster import Name

DOUBT_DAYS = 3
"""Days after a bad one during which the fast part from before it is kept."""
UNDO_DAYS = 14
"""Days after a break during which the fast part from before it is kept, to undo it."""
FIRST_POWER = "readings vary, which they never did before"
OPPOSITE = "readings are opposite to what the same weather gave before"
WAIT_DAYS = 60
"""Days during which no break is sought: after a person has undone one, or all past was left out."""


class ChangeResult(NamedTuple):
    """The state after the search, its events, and entities whose networks are to be updated."""

    state: LearnerState
    changes: tuple[NetworkChange, ...] = ()
    due: tuple[int, ...] = ()


def search_changes(
    state: LearnerState, *, before: int, since: int, approvals: frozenset[Name]
) -> ChangeResult:
    """Find what has changed and take it into account, once a day.

    A standstill or a change of level may end at any time.

    Args:
        state: With everything learned that was measured before its boundary.
        before: The boundary before.
        since: First later step with a row.
        approvals: Entities whose new versions wait for approval.
    """
    settings, day = state.frame.settings.changes, state.frame.schedule.clock.day
    if settings is None:
        return ChangeResult(state)
    state, ended = end_standstills(state)
    changes, due = [NetworkChange(event, None) for event in ended], []
    broken = [place for place, each in enumerate(state.ensemble.versions) if each.breaks]
    for place in _examined(state, broken):
        found = find_return(state, place, settings)
        if found is not None:
            state, change = _take_break(state, place, found, since=since, approvals=approvals)
            changes.append(change)
            due += [place] if state.names[place] not in approvals else []
    if state.boundary // day == before // day:
        return ChangeResult(state, tuple(changes), tuple(due))
    week = last_week(state, state.boundary)
    state, errors = _observe_days(state, week), day_errors(state, week)
    lately = np.asarray(errors.bad[-DOUBT_DAYS:].any(axis=0), np.bool_)
    for place in _examined(state, lately.nonzero()[0].tolist()):
        still = find_standstill(state, place, settings)
        if still is not None:
            state, event = begin_standstill(state, place, still)
            changes.append(NetworkChange(event, None))
            continue
        new = (
            find_first_power(state, place, settings)
            or find_level_change(state, place, settings)
            or find_habit(state, place)
            or (find_contradiction(state, place) if may_contradict(state, place, errors) else None)
        )
        if new is not None:
            state, change = _take_break(state, place, new, since=since, approvals=approvals)
            changes.append(change)
            due += [place] if state.names[place] not in approvals else []
    kept = _doubtful(state, lately, errors)
    return ChangeResult(keep_fast_part(state, kept), tuple(changes), tuple(due))


def _observe_days(state: LearnerState, week: DayReadings) -> LearnerState:
    """The state that remembers the factors of days that have ended.

    Args:
        state: Of the learner.
        week: The seven days before its boundary.
    """
    day = state.frame.schedule.clock.day
    end = state.boundary // day * day
    days = week if end == state.boundary else last_week(state, end)
    # The oldest of the seven days: had a change begun on it, it would have been found.
    logs, weights = factors_of_days(state, days.pick(slice(None, None, DAYS_PER_WEEK - 1)))
    watch = state.watch.observe(logs[0], weights[0]).log_day(end // day - 1, logs[1])
    return state._replace(watch=watch)


def _examined(state: LearnerState, places: Sequence[int]) -> list[int]:
    """Those of some entities that do not stand still and have readings that may be a change."""
    return [place for place in places if state.watch.is_examined(place, state.boundary)]


def _doubtful(state: LearnerState, lately: BoolArray, errors: DayErrors) -> BoolArray:
    """Entities whose last days may turn out to be a change, or whose change may be undone, `e`.

    Args:
        state: Of the learner.
        lately: Entities with bad days lately, `e`.
        errors: Of the last seven days.
    """
    day = state.frame.schedule.clock.day
    found = lately & ~errors.bad.all(axis=0) | may_be_habits(state)
    found |= state.watch.standing != RUNS
    for place, version in enumerate(state.ensemble.versions):
        newest = max((each.found for each in version.breaks), default=-1) if version.breaks else -1
        if newest >= 0 and 0 <= state.boundary - newest < UNDO_DAYS * day:
            found[place] = True
    return np.asarray(found, np.bool_)


def _take_break(
    state: LearnerState,
    place: int,
    found: LevelChange | FirstPower | Contradiction,
    *,
    since: int,
    approvals: frozenset[Name],
) -> tuple[LearnerState, NetworkChange]:
    """The state that takes a change into account, or in which it waits for approval."""
    if isinstance(found, LevelChange):
        own = Break(found.step, since, found.factor, scaled=found.days)
    else:
        factor = found.factor if isinstance(found, FirstPower) else 1.0
        own = Break(found.step, since, factor, EVERY_DAY)
    version, name = _version_after(state, place, own), state.names[place]
    day = state.frame.schedule.clock.day
    waits = name in approvals
    if waits:
        others = (each for each in state.candidates if each.entity != name)
        examined = state.boundary + DAYS_PER_WEEK * day
        state = state._replace(
            candidates=(*others, version), watch=state.watch.examine_from(place, examined)
        )
    else:
        state = with_version_and_breaks(state, place, version)
    state = state._replace(progress=state.progress.after_update(place, state.boundary))
    return state, NetworkChange(_event(state, found, version, waits=waits), version)


def _event(
    state: LearnerState,
    found: LevelChange | FirstPower | Contradiction,
    version: NetworkVersion,
    *,
    waits: bool,
) -> PastRescaled | PastLeftOut:
    entity, number = version.entity, version.number
    if not isinstance(found, LevelChange):
        reason, error = FIRST_POWER, None
        if isinstance(found, Contradiction):
            reason, error = OPPOSITE, found.error
        return PastLeftOut(
            entity,
            state.boundary,
            found.step,
            EVERY_DAY,
            reason,
            number,
            error,
            accepted=not waits,
        )
    return PastRescaled(
        entity,
        state.boundary,
        found.step,
        found.factor,
        found.error_before,
        found.error_after,
        number,
        accepted=not waits,
        reason=AWAITING if waits else None,
        returned=found.returned,
        days=found.days,
    )


def _version_after(state: LearnerState, place: int, new: Break) -> NetworkVersion:
    """The networks in service as a version that takes a break into account."""
    version = state.ensemble.versions[place]
    number = int(state.progress.updates[place]) + 1
    return replace(
        version,
        number=number,
        breaks=with_break(version.breaks, new),
        fleet=False,
        from_fleet=version.fleet or version.from_fleet,
    )


def with_version_and_breaks(
    state: LearnerState, place: int, version: NetworkVersion
) -> LearnerState:
    """The state in which the past is as a version with other breaks takes it.

    The fast part goes back to before the days in doubt. The networks are in service from the next
    step on.
    """
    now = state.ensemble.versions[place].breaks
    removed = tuple(each for each in now if each not in version.breaks)
    added = tuple(each for each in version.breaks if each not in now)
    if len(version.breaks) == len(now) and added:  # the two oldest were merged
        removed, added = (), added[-1:]
    state = with_breaks(state, place, removed, added)
    last, name = state.past[-1], state.names[place]
    step = max(state.boundary, state.known + 1)
    experts = replace(last, since=step, ensemble=last.ensemble.with_version(place, version))
    past = tuple(each for each in state.past if each.since < step)
    state = state._replace(past=(*past, experts))
    if state.earlier is not None and name in state.earlier.names:
        state = with_fast_part(state, state.earlier, name)
    day = state.frame.schedule.clock.day
    anew = not added or added[-1].weekdays == EVERY_DAY
    examined = state.boundary + (WAIT_DAYS * day if anew else 0)
    limits = state.limits.widen(_own_readings(state, place, added))
    return state._replace(watch=state.watch.examine_from(place, examined), limits=limits)


def _own_readings(state: LearnerState, place: int, added: tuple[Break, ...]) -> Float64Array:
    """Readings of an entity since the newest break, `n x e`; NaN of all others."""
    since = added[-1].step if added else state.boundary
    rows = state.recent.at >= since
    readings = np.full((int(rows.sum()), len(state.names)), np.nan)
    readings[:, place] = state.recent.measured[rows, place]
    return readings
