"""The start of an adaptive forecaster: warm-up, and entities that join."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from clearwatt.adaptive.change_watch import ChangeWatch
from clearwatt.adaptive.corrections import Corrections
from clearwatt.adaptive.ensemble import Ensemble, NetworkVersion, stack_weights
from clearwatt.adaptive.experts import Experts
from clearwatt.adaptive.frame import Frame
from clearwatt.adaptive.lead_corrections import LeadCorrections
from clearwatt.adaptive.learning import retire
from clearwatt.adaptive.novelty import InputModel
from clearwatt.adaptive.power_range import PowerRange
from clearwatt.adaptive.recent import LagRows, RecentRows, places_of
from clearwatt.adaptive.reservoir import Reservoir
from clearwatt.adaptive.state import LearnerState
from clearwatt.adaptive.terms import TERMS, lag_inputs, lags_of
from clearwatt.adaptive.trust import Trust
from clearwatt.adaptive.unlearned import UnlearnedForecasts
from clearwatt.adaptive.update_counts import UpdateCounts
from clearwatt.arrays import Float32Array, Float64Array
from clearwatt.clock import Steps
from clearwatt.errors import DataError
from clearwatt.forecaster import Name
from clearwatt.training.standardisation import Standardisation
from clearwatt.training.streams import Stream


def warm_up_networks(
    frame: Frame,
    names: Sequence[Name],
    seen: Float32Array,
    lagged: Float32Array,
    y: Float32Array,
    *,
    at: Steps,
    rng: np.random.Generator,
) -> Stream[tuple[NetworkVersion, ...]]:
    """Train the first networks of entities.

    Args:
        frame: What stays the same.
        names: Names of the entities, `e`.
        seen: What all networks see, `n x v`.
        lagged: Past measurements that some of them see, `n x e x l`.
        y: Power, `n x e`.
        at: Steps, `n`.
        rng: Source of randomness.
    """
    shape = frame.architecture
    first = [shape.network.initialise(draw_seeds(rng, shape.size)) for _ in names]
    jobs = [
        job
        for place, params in enumerate(first)
        for job in shape.jobs(
            params,
            seen,
            lagged[:, place],
            y[:, place],
            ages=None,
            seeds=draw_seeds(rng, shape.size),
        )
    ]
    trained = yield tuple(jobs)
    versions = []
    for place, name in enumerate(names):
        own = trained[place * shape.size : (place + 1) * shape.size]
        params = stack_weights(own)
        if params is None:
            raise DataError(f"training on the warm-up of {name} diverged; check its readings")
        version = NetworkVersion(name, 0, params, 0.0)
        known = np.isfinite(y[:, place])
        forecast = Ensemble(shape, (version,)).mean_forecast(seen[known])[:, 0]
        error = float(np.abs(forecast - y[known, place]).mean())
        kernel = shape.fit_kernel(seen[known], y[known, place], at[known])
        versions.append(replace(version, error=error, kernel=kernel))
    return tuple(versions)


def start_state(
    frame: Frame,
    names: Sequence[Name],
    x: Float64Array,
    y: Float64Array,
    at: Steps,
    *,
    rng: np.random.Generator,
) -> Stream[LearnerState]:
    """Learn the warm-up: inputs `n x d`, power `n x e`, steps `n`."""
    require_measured(names, y)
    schedule, power = frame.schedule, Standardisation.fit(y)
    measured = power.apply(y).astype(np.float64)
    limits, seen = PowerRange.of(measured), frame.view.see(x, at)
    lagged = lag_inputs_at(at, frame, at, measured, limits)
    versions = yield from warm_up_networks(
        frame, names, seen, lagged, measured.astype(np.float32), at=at, rng=rng
    )
    boundary = schedule.period_start(int(at[-1])) + schedule.refresh
    state = new_state(
        frame,
        names,
        power=power,
        limits=limits,
        versions=versions,
        inputs=InputModel.fit(seen),
        boundary=boundary,
        newest=int(at[-1]),
    )
    recent = state.recent.fresh(at, x, measured)._replace(
        seen=seen,
        lagged=lagged,
        learned=np.ones(measured.shape, np.bool_),
        recalled=np.ones(len(at), np.bool_),
    )
    state = state._replace(recent=recent)
    return retire(state, rng)


def new_state(
    frame: Frame,
    names: Sequence[Name],
    *,
    power: Standardisation,
    limits: PowerRange,
    versions: tuple[NetworkVersion, ...],
    inputs: InputModel,
    boundary: int,
    newest: int,
) -> LearnerState:
    """A state that holds no samples, with the first networks of each entity."""
    settings, clock = frame.settings, frame.schedule.clock
    entities, experts = len(names), len(settings.experts)
    corrections = Corrections.empty(
        settings.fast.corrections, day=clock.day, ridge=settings.fast.ridge, entities=entities
    )
    trust = Trust.equal(
        entities,
        experts,
        half_life=settings.fast.trust * clock.day,
        caution=settings.fast.caution,
    )
    leads = LeadCorrections.empty(settings.leads, clock=clock, entities=entities)
    return LearnerState(
        frame=frame,
        names=tuple(names),
        power=power,
        recent=RecentRows.blank(
            0,
            inputs=frame.inputs,
            seen=frame.view.width,
            entities=entities,
            lags=frame.architecture.lags,
        ),
        unlearned=UnlearnedForecasts.empty(terms=TERMS, experts=experts),
        reservoir=Reservoir.empty(
            frame.memory - frame.schedule.recent_steps,
            memory=settings.recency * clock.day,
            inputs=frame.view.width,
            entities=entities,
            lags=frame.architecture.lags,
        ),
        corrections=corrections,
        trust=trust,
        leads=leads,
        limits=limits,
        jumps=np.full(entities, np.nan),
        inputs=inputs,
        progress=UpdateCounts.begin(entities, boundary),
        boundary=boundary,
        newest=newest,
        watch=ChangeWatch.begin(entities),
        past=(
            Experts(
                boundary,
                Ensemble(frame.architecture, versions),
                corrections.solve(),
                trust.weights,
                limits,
                leads.coefficients,
            ),
        ),
    )


def join_entity(
    state: LearnerState,
    name: Name,
    x: Float64Array,
    y: Float64Array,
    at: Steps,
    *,
    rng: np.random.Generator,
) -> Stream[LearnerState]:
    """Add an entity with its warm-up: inputs `n x d`, power `n x 1`, steps `n`."""
    require_new(state, name)
    require_measured([name], y)
    frame, own = state.frame, Standardisation.fit(y)
    measured = own.apply(y).astype(np.float64)
    limits = PowerRange.of(measured)
    lagged = lag_inputs_at(at, frame, at, measured, limits)
    (version,) = yield from warm_up_networks(
        frame, [name], frame.view.see(x, at), lagged, measured.astype(np.float32), at=at, rng=rng
    )
    return add_entity(state, version, own, limits, measured=measured, at=at)


def add_entity(
    state: LearnerState,
    version: NetworkVersion,
    power: Standardisation,
    limits: PowerRange,
    *,
    measured: Float64Array,
    at: Steps,
) -> LearnerState:
    """The state with another entity.

    Args:
        state: Without it.
        version: Its networks.
        power: Scale of its power.
        limits: Range of its power, in deviations.
        measured: Measurements that it has learned from, in deviations, `n x 1`.
        at: Steps of these, `n`.
    """
    frame = state.frame
    corrections, trust = state.corrections.add_entities(1), state.trust.add_entities(1)
    past = tuple(
        Experts(
            each.since,
            Ensemble(frame.architecture, (*each.ensemble.versions, version)),
            np.concatenate([each.coefficients, np.zeros_like(each.coefficients[:, :1])], axis=1),
            np.concatenate([each.weights, trust.weights[-1:]]),
            each.limits.add_entities(limits),
            None if each.leads is None else each.leads.add_entities(1),
        )
        for each in state.past
    )
    return state._replace(
        names=(*state.names, version.entity),
        power=Standardisation(
            np.concatenate([state.power.mean, power.mean]),
            np.concatenate([state.power.scale, power.scale]),
        ),
        recent=_with_entity(
            state.recent,
            _values_at(state.recent.at, at, measured[:, 0]),
            lag_inputs_at(state.recent.at, frame, at, measured, limits),
        ),
        reservoir=state.reservoir.add_entity(
            _values_at(state.reservoir.at, at, limits.limit_outliers(measured)[:, 0]),
            lag_inputs_at(state.reservoir.at, frame, at, measured, limits),
        ),
        corrections=corrections,
        trust=trust,
        leads=state.leads.add_entities(1),
        limits=state.limits.add_entities(limits),
        jumps=np.append(state.jumps, np.nan),
        progress=state.progress.add_entities(UpdateCounts.begin(1, state.boundary)),
        watch=state.watch.add_entities(1),
        past=past,
    )


def draw_seeds(rng: np.random.Generator, count: int) -> list[int]:
    """Seeds of networks and of trainings."""
    return [int(seed) for seed in rng.integers(2**31, size=count)]


def require_new(state: LearnerState, name: Name) -> None:
    """Refuse an entity that is there already."""
    if name in state.names:
        raise DataError(f"there is an entity {name!r} already; give another name")


def require_measured(names: Sequence[Name], y: Float64Array) -> None:
    """Refuse an entity without any measurement in its warm-up."""
    empty = np.flatnonzero(~np.isfinite(y).any(axis=0))
    if empty.size:
        raise DataError(f"entity {names[empty[0]]} has no measurement in the warm-up; leave it out")


def _values_at(wanted: Steps, at: Steps, values: Float64Array) -> Float64Array:
    """Values, `n`, of some steps; NaN where there is none."""
    places, there = places_of(wanted, at)
    found = np.full(len(wanted), np.nan)
    found[there] = values[places[there]]
    return found


def lag_inputs_at(
    wanted: Steps, frame: Frame, at: Steps, measured: Float64Array, limits: PowerRange
) -> Float32Array:
    """Past measurements that some networks see of some steps, `n x e x l`, from a warm-up."""
    rows = LagRows(at, np.empty((len(at), 0)), np.full(measured.shape, np.nan), measured)
    lags = lags_of(wanted, rows, limits, frame.schedule.clock)
    return lag_inputs(lags.persistences[..., : frame.architecture.lags])


def _with_entity(recent: RecentRows, measured: Float64Array, lagged: Float32Array) -> RecentRows:
    """One more entity, whose measurements the warm-up has learned already."""
    more = RecentRows.blank(
        recent.size,
        inputs=0,
        seen=0,
        entities=1,
        lags=lagged.shape[2],
    )._replace(measured=measured[:, None], learned=np.isfinite(measured)[:, None], lagged=lagged)
    wide = ("lagged", "slow", "power", "measured", "learned", "novel")
    parts = {
        name: np.concatenate([getattr(recent, name), getattr(more, name)], axis=1) for name in wide
    }
    return recent._replace(**parts)
