"""The end of a period: learn from its measurements, update due networks, shift trust."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from clearwatt.adaptive.backcast import (
    backcast_readings,
    current_first_steps,
    due_backcasts,
    note_attempts,
)
from clearwatt.adaptive.breaks import usable_since
from clearwatt.adaptive.change_days import in_doubt
from clearwatt.adaptive.change_search import search_changes, with_version_and_breaks
from clearwatt.adaptive.change_watch import RUNS
from clearwatt.adaptive.ensemble import FEW_SAMPLES, NetworkVersion
from clearwatt.adaptive.events import NetworkChange, Trigger
from clearwatt.adaptive.experts import Experts
from clearwatt.adaptive.jumps import weights_in_force
from clearwatt.adaptive.learning import recall, retire, solve
from clearwatt.adaptive.levels import power_now
from clearwatt.adaptive.novelty import InputModel
from clearwatt.adaptive.reconstruction import reconstruct_readings
from clearwatt.adaptive.refit import refit_corrections
from clearwatt.adaptive.shifts import shifts_of_trust
from clearwatt.adaptive.silences import due_after_return, note_readings
from clearwatt.adaptive.standstill import may_stand_still
from clearwatt.adaptive.start import draw_seeds
from clearwatt.adaptive.state import LearnerState
from clearwatt.adaptive.updates import Backcast, HeldSamples, NetworkTraining, UpdateRequest
from clearwatt.arrays import BoolArray
from clearwatt.errors import StateError
from clearwatt.forecaster import Name
from clearwatt.training.fleet import Trained
from clearwatt.training.streams import Stream

WAIT = 3.0
"""Days' worth of novel samples by which an update waits to see whether an entity has changed."""
GROWTH = 1.5
"""Growth of the samples since a past was left out that makes the next update due."""


def end_period(
    state: LearnerState,
    boundary: int,
    *,
    since: int,
    rng: np.random.Generator,
    approvals: frozenset[Name],
) -> Stream[tuple[LearnerState, tuple[NetworkChange, ...]]]:
    """Learn all measurements before a step; returns the new state and the changes.

    Args:
        state: Of the learner.
        boundary: First step after the period.
        since: First later step with a row; the result is in force from it on.
        rng: Source of randomness.
        approvals: Entities whose trained networks wait for approval.
    """
    before = state.boundary
    state = reconstruct_readings(note_readings(recall(state)), boundary)
    found = search_changes(solve(state, boundary), before=before, since=since, approvals=approvals)
    state, updates = yield from update_networks(
        found.state, rng=rng, approvals=approvals, changed=found.due
    )
    state = in_service(retire(state, rng), since=since)
    state, shifts = shifts_of_trust(state)
    changes = (*found.changes, *updates, *(NetworkChange(shift, None) for shift in shifts))
    return state, changes


def update_networks(
    state: LearnerState,
    *,
    rng: np.random.Generator,
    approvals: frozenset[Name],
    changed: Sequence[int] = (),
) -> Stream[tuple[LearnerState, tuple[NetworkChange, ...]]]:
    """Train the networks of every entity that is due, or has changed, together."""
    requests = due_updates(state, changed)
    if not requests:
        return state, ()
    held = held_samples(state)
    backcasts = [backcast_readings(state, held, each.place) for each in requests]
    state, kept = _without_backcasts(state, requests, backcasts, changed)
    shape, settings = state.frame.architecture, state.frame.settings
    updates = [
        NetworkTraining(
            request,
            held,
            architecture=shape,
            settings=settings,
            day=state.frame.schedule.clock.day,
            memory=state.frame.memory,
            seeds=draw_seeds(rng, shape.size),
            backcast=backcast,
        )
        for request, backcast in zip(kept, backcasts, strict=True)
        if request is not None
    ]
    if not updates:
        return state, ()
    trained = yield tuple(job for update in updates for job in update.jobs)
    changes: list[NetworkChange] = []
    for number, update in enumerate(updates):
        own = trained[number * shape.size : (number + 1) * shape.size]
        state, found = deploy_trained(state, update, own, held=held, approvals=approvals)
        changes += found
    inputs = InputModel.fit(held.seen)
    return state._replace(inputs=inputs, first_steps=current_first_steps(state)), tuple(changes)


def _without_backcasts(
    state: LearnerState,
    requests: Sequence[UpdateRequest],
    backcasts: Sequence[Backcast | None],
    changed: Sequence[int],
) -> tuple[LearnerState, list[UpdateRequest | None]]:
    """Requests for back-casts that there are; for others the request for another reason, if any.

    The state notes that others do not tell the past of an entity.
    """
    failed = {
        request.place
        for request, backcast in zip(requests, backcasts, strict=True)
        if request.trigger == "backcast" and backcast is None
    }
    if not failed:
        return state, list(requests)
    first_steps = note_attempts(state, [state.names[place] for place in failed])
    state = state._replace(first_steps=first_steps)
    again = {each.place: each for each in due_updates(state, changed)}
    kept = [again.get(each.place) if each.place in failed else each for each in requests]
    return state, kept


def deploy_trained(
    state: LearnerState,
    update: NetworkTraining,
    trained: Sequence[Trained],
    *,
    held: HeldSamples,
    approvals: frozenset[Name],
) -> tuple[LearnerState, tuple[NetworkChange, ...]]:
    """Put trained networks into service, or let them wait, or refuse them."""
    place, approval = update.request.place, update.request.deployed.entity in approvals
    event, version = update.assess(trained, approval=approval)
    state = state._replace(progress=state.progress.after_update(place, state.boundary))
    if version is not None and approval:
        others = (each for each in state.candidates if each.entity != version.entity)
        state = state._replace(candidates=(*others, version))
    elif version is not None:
        if version.from_fleet:
            state = refit_corrections(state, place, version, held)
        state = _with_networks(state, place, version)
    return state, (NetworkChange(event, version),)


def due_updates(state: LearnerState, changed: Sequence[int] = ()) -> list[UpdateRequest]:
    """The entities whose networks are due for an update.

    There is enough novelty, they are too old, or the entity has changed or returned.
    """
    day, progress = state.frame.schedule.clock.day, state.progress
    novelty = state.frame.settings.novelty
    none = np.zeros(len(state.names), np.bool_)
    full = none if novelty.capacity is None else progress.novel >= novelty.capacity * day
    back = none if novelty.capacity is None else due_after_return(state)
    changes = state.frame.settings.changes
    past = none if novelty.capacity is None else due_backcasts(state)
    if (full | back | past).any() and changes is not None and novelty.capacity is not None:
        # Networks that have learned the beginning of a change no longer know the time before it.
        doubtful = in_doubt(state, changes.least_factor) | may_stand_still(
            state, full | back | past
        )
        full = full & ~(doubtful & (progress.novel < (novelty.capacity + WAIT) * day))
        back, past = back & ~doubtful, past & ~doubtful
    ages = state.boundary - progress.updated
    old = none if novelty.oldest is None else ages >= novelty.oldest * day
    new = np.isin(np.arange(len(state.names)), changed) | _young(state)
    own = full | back | past | (old & (progress.samples > 0)) | new
    due = own & (state.watch.standing == RUNS)
    if not due.any():
        return []
    reasons: list[tuple[Trigger, BoolArray]] = [
        ("change", new),
        ("backcast", past),
        ("novelty", full),
        ("return", back),
        ("age", due),
    ]
    return [
        update_request(state, place, trigger=next(name for name, own in reasons if own[place]))
        for place in np.flatnonzero(due).tolist()
    ]


def update_request(state: LearnerState, place: int, *, trigger: Trigger) -> UpdateRequest:
    """The request to update the networks of one entity."""
    progress = state.progress
    return UpdateRequest(
        place=place,
        deployed=state.ensemble.versions[place],
        trigger=trigger,
        number=int(progress.updates[place]) + 1,
        boundary=state.boundary,
        since=int(progress.updated[place]),
        samples=int(progress.samples[place]),
        novel=int(progress.novel[place]),
        novel_inputs=float(progress.novel_inputs[place] / max(1, progress.rows[place])),
        scale=float(power_now(state).scale[place]),
    )


def _young(state: LearnerState) -> BoolArray:
    """Entities whose past was left out, with half as many samples more than at the last update."""
    breaks, progress = state.ensemble.breaks, state.progress
    since = np.array([usable_since(own) for own in breaks])
    age, rest = state.boundary - since, progress.updated - since
    grown = (progress.samples > 0) & (age >= GROWTH * np.maximum(rest, 1))
    few = age < FEW_SAMPLES
    return np.asarray((since > 0) & grown & few, np.bool_)


def held_samples(state: LearnerState) -> HeldSamples:
    """Everything held of the past, without the readings of standstills that go on."""
    recent, reservoir = state.recent, state.reservoir
    measured = state.limits.limit_outliers(recent.measured).astype(np.float32)
    measured[state.watch.standing_at(recent.at)] = np.nan
    return HeldSamples(
        at=np.concatenate([reservoir.at, recent.at]),
        seen=np.concatenate([reservoir.seen, recent.seen]),
        lagged=np.concatenate([reservoir.lagged, recent.lagged]),
        y=np.concatenate([reservoir.y, measured]),
        novel=np.concatenate([reservoir.novel, recent.novel]),
    )


def in_service(state: LearnerState, *, since: int) -> LearnerState:
    """Put corrections and trust as they are solved now into service from a step on.

    Past experts are kept back to those that forecast the next row.
    """
    last, schedule = state.past[-1], state.frame.schedule
    experts = Experts(
        since,
        last.ensemble,
        state.corrections.solve(),
        weights_in_force(state),
        state.limits,
        state.leads.coefficients,
    )
    past = [*(each for each in state.past if each.since < since), experts]
    while len(past) > 1 and past[1].since <= schedule.clock.cutoff(since - schedule.refresh):
        del past[0]
    return state._replace(past=tuple(past))


def with_version(state: LearnerState, place: int, version: NetworkVersion) -> LearnerState:
    """Put networks of one entity into service from the next step on."""
    if not state.frame.architecture.fits(version.params):
        raise StateError(
            f"version {version.number} of {version.entity} has weights of other shapes than the "
            "networks in service; activate one of the same settings"
        )
    waiting = tuple(each for each in state.candidates if each.entity != version.entity)
    if version.breaks != state.ensemble.versions[place].breaks:
        return with_version_and_breaks(state, place, version)._replace(candidates=waiting)
    last, since = state.past[-1], max(state.boundary, state.known + 1)
    experts = replace(last, since=since, ensemble=last.ensemble.with_version(place, version))
    past = tuple(each for each in state.past if each.since < since)
    return state._replace(past=(*past, experts), candidates=waiting)


def _with_networks(state: LearnerState, place: int, version: NetworkVersion) -> LearnerState:
    """Use these networks from the next step on."""
    last, since = state.past[-1], max(state.boundary, state.known + 1)
    experts = replace(last, since=since, ensemble=last.ensemble.with_version(place, version))
    past = tuple(each for each in state.past if each.since < since)
    return state._replace(past=(*past, experts))
