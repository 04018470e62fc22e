"""The end of a period: learn from its measurements, update due networks, shift trust."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from clearwatt.adaptive.ensemble import NetworkVersion
from clearwatt.adaptive.events import NetworkChange
from clearwatt.adaptive.experts import Experts
from clearwatt.adaptive.jumps import weights_in_force
from clearwatt.adaptive.learning import recall, retire, solve
from clearwatt.adaptive.novelty import InputModel
from clearwatt.adaptive.shifts import shifts_of_trust
from clearwatt.adaptive.start import draw_seeds
from clearwatt.adaptive.state import LearnerState
from clearwatt.adaptive.updates import HeldSamples, NetworkTraining, UpdateRequest
from clearwatt.errors import StateError
from clearwatt.forecaster import Name
from clearwatt.training.streams import Stream


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
    state = solve(recall(state), boundary)
    state, changes = yield from update_networks(state, rng=rng, approvals=approvals)
    state = in_service(retire(state, rng), since=since)
    state, shifts = shifts_of_trust(state)
    return state, (*changes, *(NetworkChange(shift, None) for shift in shifts))


def update_networks(
    state: LearnerState, *, rng: np.random.Generator, approvals: frozenset[Name]
) -> Stream[tuple[LearnerState, tuple[NetworkChange, ...]]]:
    """Train the networks of every entity that is due, together."""
    requests = due_updates(state)
    if not requests:
        return state, ()
    held = held_samples(state)
    shape, settings = state.frame.architecture, state.frame.settings
    updates = [
        NetworkTraining(
            request,
            held,
            architecture=shape,
            settings=settings,
            day=state.frame.schedule.clock.day,
            seeds=draw_seeds(rng, shape.size),
        )
        for request in requests
    ]
    trained = yield tuple(job for update in updates for job in update.jobs)
    changes = []
    for number, update in enumerate(updates):
        own = trained[number * shape.size : (number + 1) * shape.size]
        place, approval = update.request.place, update.request.deployed.entity in approvals
        event, version = update.assess(own, approval=approval)
        state = state._replace(progress=state.progress.after_update(place, state.boundary))
        if version is not None and approval:
            others = (each for each in state.candidates if each.entity != version.entity)
            state = state._replace(candidates=(*others, version))
        elif version is not None:
            state = _with_networks(state, place, version)
        changes.append(NetworkChange(event, version))
    return state._replace(inputs=InputModel.fit(held.seen)), tuple(changes)


def due_updates(state: LearnerState) -> list[UpdateRequest]:
    """The entities whose networks are due for an update: enough novelty, or too old."""
    day, progress = state.frame.schedule.clock.day, state.progress
    novelty = state.frame.settings.novelty
    none = np.zeros(len(state.names), np.bool_)
    full = none if novelty.capacity is None else progress.novel >= novelty.capacity * day
    ages = state.boundary - progress.updated
    old = none if novelty.oldest is None else ages >= novelty.oldest * day
    due = full | (old & (progress.samples > 0))
    if not due.any():
        return []
    return [
        UpdateRequest(
            place=int(place),
            deployed=state.ensemble.versions[place],
            trigger="novelty" if full[place] else "age",
            number=int(progress.updates[place]) + 1,
            boundary=state.boundary,
            since=int(progress.updated[place]),
            samples=int(progress.samples[place]),
            novel=int(progress.novel[place]),
            novel_inputs=float(progress.novel_inputs[place] / max(1, progress.rows[place])),
            scale=float(state.power.scale[place]),
        )
        for place in np.flatnonzero(due)
    ]


def held_samples(state: LearnerState) -> HeldSamples:
    """Everything held of the past."""
    recent, reservoir = state.recent, state.reservoir
    measured = state.limits.limit_outliers(recent.measured).astype(np.float32)
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
    last, since = state.past[-1], max(state.boundary, state.known + 1)
    experts = replace(last, since=since, ensemble=last.ensemble.with_version(place, version))
    past = tuple(each for each in state.past if each.since < since)
    return state._replace(past=(*past, experts), candidates=waiting)


def _with_networks(state: LearnerState, place: int, version: NetworkVersion) -> LearnerState:
    """Use these networks in the next period."""
    last = state.past[-1]
    ensemble = last.ensemble.with_version(place, version)
    return state._replace(
        past=(*state.past, replace(last, since=state.boundary, ensemble=ensemble))
    )
