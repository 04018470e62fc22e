"""One period of learning: forecasts recalled as they were issued, sums, solutions, the reservoir.

Every function takes a state and returns the next one.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from clearwatt.adaptive.breaks import issued_before
from clearwatt.adaptive.experts import Experts, Opinions
from clearwatt.adaptive.jumps import find_jumps
from clearwatt.adaptive.lead_corrections import LeadCorrections
from clearwatt.adaptive.lead_errors import ErrorHistory, LatestErrors
from clearwatt.adaptive.levels import between_levels
from clearwatt.adaptive.state import LearnerState
from clearwatt.adaptive.terms import lag_inputs, lags_of
from clearwatt.adaptive.update_counts import UpdateCounts
from clearwatt.arrays import BoolArray, Float32Array, Float64Array, Int64Array
from clearwatt.clock import Steps


def recall(state: LearnerState) -> LearnerState:
    """Compute the forecasts of rows that have arrived since the last call, as they were issued.

    Each is made by the experts in force a delay before its step.
    """
    recent, frame = state.recent, state.frame
    rows = np.flatnonzero(~recent.recalled)
    if not len(rows):
        return state
    at, clock = recent.at[rows], frame.schedule.clock
    start = int(recent.at.searchsorted(at[0] - frame.view.reach))
    part = slice(start, int(rows[-1]) + 1)
    first = int(rows[0])
    seen = frame.view.see(recent.x[part], recent.at[part], first=first - start)[rows - first]
    cutoffs = clock.cutoff(at)
    known = recent.at[np.maximum(recent.at.searchsorted(cutoffs, side="right") - 1, 0)]
    found = [
        _as_issued(state, experts, seen[own], at[own], known[own])
        for experts, own in in_force(state.past, cutoffs)
    ]
    lagged, slow, terms, experts, power = Opinions.concatenate(found)
    recent = recent.replace_values(
        rows,
        seen=seen,
        lagged=lagged,
        slow=slow,
        power=power,
        recalled=np.ones(len(rows), np.bool_),
    )
    return state._replace(recent=recent, unlearned=state.unlearned.added(at, terms, experts))


def _as_issued(
    state: LearnerState, experts: Experts, seen: Float32Array, at: Steps, known: Steps
) -> Opinions:
    """Forecasts by experts that may not have known of a break, at the levels of today.

    What they missed by is no error to learn from: of such forecasts the terms are NaN.
    """
    rows, clock = state.recent.lags, state.frame.schedule.clock
    today, then = state.ensemble.breaks, experts.ensemble.breaks
    if today == then:
        return experts.forecast(seen, at, rows, clock, known=known)
    changed = [place for place in range(len(today)) if today[place] != then[place]]
    measured = rows.measured.copy()
    for place in changed:
        measured[:, place] = between_levels(
            state, rows.at, measured[:, place], old=today[place], new=then[place], place=place
        )
    earlier = rows._replace(measured=measured)
    found = experts.forecast(seen, at, earlier, clock, known=known)
    lags = lags_of(at, rows, state.limits, clock, known=known)
    lagged = lag_inputs(lags.estimates[..., : found.lagged.shape[2]])
    for place in changed:
        for values in (found.power[:, place], *found.experts[:, place].T):
            values[:] = between_levels(
                state, at, values, old=then[place], new=today[place], place=place
            )
        found.terms[:, place] = np.nan
        found.lagged[:, place] = lagged[:, place]
    return found


def in_force(past: tuple[Experts, ...], cutoffs: Steps) -> list[tuple[Experts, slice]]:
    """Experts in force for forecasts that can use measurements up to each step, `n`, ascending."""
    starts = [experts.since for experts in past[1:]]
    cuts = [0, *cutoffs.searchsorted(starts).tolist(), len(cutoffs)]
    parts = zip(past, cuts[:-1], cuts[1:], strict=True)
    return [(experts, slice(low, high)) for experts, low, high in parts if high > low]


def solve(state: LearnerState, boundary: int) -> LearnerState:
    """Learn from the measurements before a step: corrections, trust, range, novelty."""
    recent = state.recent
    fresh = np.isfinite(recent.measured) & ~recent.learned
    rows = np.flatnonzero(fresh.any(axis=1))
    fresh, at = fresh[rows], recent.at[rows]
    taught = fresh & ~state.watch.standing_at(at)
    measured = np.where(taught, state.limits.limit_outliers(recent.measured[rows]), np.nan)
    ages, passed = (boundary - at).astype(np.float64), boundary - state.boundary
    terms, experts = state.unlearned.of_steps(at, len(state.names))
    # A measurement that was learned, taken back and sent again is not learned twice. Nor is one
    # learned whose forecast did not know of a break.
    again = np.isnan(terms[:, :, 0])
    measured = np.where(again, np.nan, measured)
    residuals = measured - recent.slow[rows]
    novel = _novel(state, residuals)
    recent = recent.replace_values(
        rows, learned=recent.learned[rows] | fresh, novel=recent.novel[rows] | novel
    )
    return state._replace(
        corrections=state.corrections.learn(terms, residuals, ages=ages, passed=passed),
        trust=state.trust.learn(experts, measured, ages=ages, passed=passed),
        leads=_learn_leads(state, boundary),
        limits=state.limits.widen(measured),
        recent=recent,
        unlearned=state.unlearned.still_open(recent),
        jumps=find_jumps(state, boundary, at, experts, measured),
        progress=_count_samples(state, taught & ~again, novel, rows),
        boundary=boundary,
        newest=max(state.newest, int(at.max(initial=-1))),
    )


def _learn_leads(state: LearnerState, boundary: int) -> LeadCorrections:
    """Corrections by lead after the days that have ended before a step, once for each day.

    A measurement that arrives later is not learned from; there are enough others.
    """
    recent, leads, day = state.recent, state.leads, state.frame.schedule.clock.day
    start, end = state.boundary // day * day, boundary // day * day
    rows = days_ended(state, boundary)
    if rows.start == rows.stop:
        return leads
    history = errors_since(state, start - leads.reach)
    return leads.learn(
        recent.power[rows],
        _teaching(state, recent.at[rows], recent.measured[rows]),
        recent.at[rows],
        history,
        now=end,
        passed=end - start,
    )


def days_ended(state: LearnerState, boundary: int) -> slice:
    """Rows of the days that end between the last boundary and the next one."""
    day = state.frame.schedule.clock.day
    ends = [state.boundary // day * day, boundary // day * day]
    return slice(*state.recent.at.searchsorted(ends).tolist())


def errors_since(state: LearnerState, since: int) -> ErrorHistory:
    """Errors of the forecasts as issued, from a step on."""
    recent = state.recent
    start = int(recent.at.searchsorted(since))
    measured = _teaching(state, recent.at[start:], recent.measured[start:])
    day = state.frame.schedule.clock.day
    return ErrorHistory.of(recent.at[start:], recent.power[start:], measured, since=since, day=day)


def _teaching(state: LearnerState, at: Steps, measured: Float64Array) -> Float64Array:
    """Measurements, `n x e`, without those that say nothing about errors of today's experts.

    These are the readings of a standstill, and those whose forecasts did not know of a break.
    """
    limited, breaks = state.limits.limit_outliers(measured), state.ensemble.breaks
    mute = state.watch.standing_at(at)
    if any(breaks):
        mute |= issued_before(breaks, at, state.frame.schedule.clock.delay)
    return np.where(mute, np.nan, limited) if mute.any() else limited


def latest_errors(state: LearnerState) -> LatestErrors:
    """What the last measurements tell now."""
    history = errors_since(state, state.known - 2 * state.frame.schedule.clock.day)
    return history.known_of_each(state.known)


def _novel(state: LearnerState, residuals: Float64Array) -> BoolArray:
    """Which residuals, `n x e`, are novel to the networks in service."""
    errors = np.array([version.error for version in state.ensemble.versions])
    alpha = state.frame.settings.novelty.alpha
    return np.asarray(np.abs(residuals) > alpha * errors, np.bool_)


def _count_samples(
    state: LearnerState, fresh: BoolArray, novel: BoolArray, rows: Int64Array
) -> UpdateCounts:
    progress, alpha = state.progress, state.frame.settings.novelty.alpha
    inputs = state.inputs.errors(state.recent.seen[rows]) > alpha * state.inputs.error
    return replace(
        progress,
        samples=progress.samples + fresh.sum(axis=0),
        novel=progress.novel + novel.sum(axis=0),
        rows=progress.rows + len(rows),
        novel_inputs=progress.novel_inputs + int(inputs.sum()),
    )


def retire(state: LearnerState, rng: np.random.Generator) -> LearnerState:
    """Move rows that are older than the same weekday to the reservoir, many at a time.

    Rows may wait for as many steps as the delay; `Schedule.recent_steps` has room for them.
    """
    clock = state.frame.schedule.clock
    # Rows without measurements are retired, too, so that they do not pile up.
    now = max(state.newest + 1, state.boundary - clock.same_weekday)
    oldest = now - clock.same_weekday
    if not state.recent.size or state.recent.at[0] >= oldest - max(0, clock.delay - 1):
        return state
    cut = int(np.searchsorted(state.recent.at, oldest))
    recent = state.recent
    old = np.flatnonzero(np.isfinite(recent.measured[:cut]).any(axis=1))
    measured = state.limits.limit_outliers(recent.measured[old]).astype(np.float32)
    measured[state.watch.standing_at(recent.at[old])] = np.nan
    reservoir = state.reservoir.offer(
        recent.at[old],
        seen=recent.seen[old],
        lagged=recent.lagged[old],
        y=measured,
        novel=recent.novel[old],
        rng=rng,
    )
    return state._replace(recent=recent.pick(slice(cut, None)), reservoir=reservoir)
