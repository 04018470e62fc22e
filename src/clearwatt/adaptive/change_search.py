"""What the end of a period shows of changes: standstills, and a past that has become wrong."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from clearwatt.adaptive.breaks import EVERY_DAY, Break, with_break
from clearwatt.adaptive.change import LevelChange, find_level_change
from clearwatt.adaptive.change_days import day_errors, day_factors
from clearwatt.adaptive.change_events import PastLeftOut, PastRescaled
from clearwatt.adaptive.change_watch import RUNS
from clearwatt.adaptive.contradiction import Contradiction, find_contradiction
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
    for place in _examined(state) if any(state.ensemble.breaks) else ():
        found = find_return(state, place, settings)
        if found is not None:
            state, change = _take_break(state, place, found, since=since, approvals=approvals)
            changes.append(change)
            due += [place] if state.names[place] not in approvals else []
    if state.boundary // day == before // day:
        return ChangeResult(state, tuple(changes), tuple(due))
    # The oldest of the last seven days: had a change begun on it, it would have been found.
    watch = state.watch.observe(*day_factors(state, DAYS_PER_WEEK - 1))
    newest, _ = day_factors(state, 0)
    state = state._replace(watch=watch.log_day(state.boundary // day - 1, newest))
    errors = day_errors(state)
    for place in _suspects(state, errors.bad):
        still = find_standstill(state, place, settings)
        if still is not None:
            state, event = begin_standstill(state, place, still)
            changes.append(NetworkChange(event, None))
            continue
        new = (
            find_first_power(state, place, settings)
            or find_level_change(state, place, settings)
            or find_habit(state, place)
            or find_contradiction(state, place)
        )
        if new is not None:
            state, change = _take_break(state, place, new, since=since, approvals=approvals)
            changes.append(change)
            due += [place] if state.names[place] not in approvals else []
    kept = _doubtful(state, errors.bad)
    return ChangeResult(keep_fast_part(state, kept), tuple(changes), tuple(due))


def _suspects(state: LearnerState, bad: BoolArray) -> list[int]:
    """Entities with a bad day lately that do not stand still and are examined."""
    lately = np.flatnonzero(bad[-DOUBT_DAYS:].any(axis=0))
    return [place for place in _examined(state) if place in lately]


def _examined(state: LearnerState) -> list[int]:
    """Entities that do not stand still and have readings that may be a change."""
    runs = (state.watch.standing == RUNS) & (state.watch.examined < state.boundary)
    return [int(place) for place in np.flatnonzero(runs)]


def _doubtful(state: LearnerState, bad: BoolArray) -> BoolArray:
    """Entities whose last days may turn out to be a change, or whose change may be undone, `e`."""
    day = state.frame.schedule.clock.day
    lately = bad[-DOUBT_DAYS:].any(axis=0) & ~bad.all(axis=0)
    found = [max((each.found for each in own), default=-1) for own in state.ensemble.breaks]
    broken = np.array([0 <= state.boundary - each < UNDO_DAYS * day for each in found])
    broken &= np.array(found) >= 0
    lately |= may_be_habits(state)
    return np.asarray(lately | broken | (state.watch.standing != RUNS), np.bool_)


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
    return replace(version, number=number, breaks=with_break(version.breaks, new), fleet=False)


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
