"""One period of learning: forecasts recalled as they were issued, sums, solutions, the reservoir.

Every function takes a state and returns the next one.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from clearwatt.adaptive.experts import Experts, Opinions
from clearwatt.adaptive.jumps import find_jumps
from clearwatt.adaptive.lead_corrections import LeadCorrections
from clearwatt.adaptive.lead_errors import ErrorHistory, LatestErrors
from clearwatt.adaptive.state import LearnerState, UpdateCounts
from clearwatt.arrays import BoolArray, Float64Array, Int64Array
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
        experts.forecast(seen[own], at[own], recent.lags, clock, known=known[own])
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
    measured = np.where(fresh, state.limits.limit_outliers(recent.measured[rows]), np.nan)
    ages, passed = (boundary - at).astype(np.float64), boundary - state.boundary
    terms, experts = state.unlearned.of_steps(at, len(state.names))
    # A measurement that was learned, taken back and sent again is not learned twice.
    again = np.isnan(terms[:, :, 0])
    residuals = np.where(again, np.nan, measured - recent.slow[rows])
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
        progress=_count_samples(state, fresh & ~again, novel, rows),
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
        state.limits.limit_outliers(recent.measured[rows]),
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
    measured = state.limits.limit_outliers(recent.measured[start:])
    day = state.frame.schedule.clock.day
    return ErrorHistory.of(recent.at[start:], recent.power[start:], measured, since=since, day=day)


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
    reservoir = state.reservoir.offer(
        recent.at[old],
        seen=recent.seen[old],
        lagged=recent.lagged[old],
        y=measured,
        novel=recent.novel[old],
        rng=rng,
    )
    return state._replace(recent=recent.pick(slice(cut, None)), reservoir=reservoir)
