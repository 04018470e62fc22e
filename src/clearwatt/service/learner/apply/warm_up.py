"""Warm-up of a zone's entities, from received history or with imported models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from clearwatt.clear.component import Model
from clearwatt.clear.deployed_models import DeployedModels, columns_of
from clearwatt.clear.warm_up import WarmUpModels
from clearwatt.data.quality import Reason
from clearwatt.errors import DataError
from clearwatt.intervals import physical_limits
from clearwatt.service.learner.apply.imported_models import ImportedModels
from clearwatt.service.learner.apply.intake import LateReadings
from clearwatt.service.learner.apply.learning import learn_beside
from clearwatt.service.learner.apply.outcome_builder import OutcomeBuilder
from clearwatt.service.learner.apply.rows import Rows
from clearwatt.service.learner.apply.warm_up_data import (
    FEWEST_SAMPLES,
    EntityReadings,
    WarmUpData,
    arrange_history,
    on_clock,
    train,
)
from clearwatt.service.learner.apply.weather import LatestWeather
from clearwatt.service.learner.apply.zone_state import ZoneState
from clearwatt.service.records import READING, Flag, Readings
from clearwatt.service.store import Store
from clearwatt.service.times import text as written
from clearwatt.training.streams import Stream

NAMED = 5
"""Maximum number of entities that a message names."""


def warm_up(
    state: ZoneState,
    builder: OutcomeBuilder,
    store: Store,
    *,
    entity: str | None,
    arguments: Mapping[str, Any],
) -> Stream[tuple[str, dict[str, Any]]]:
    """Warm up one entity, or all of the zone with a history; returns a message and details.

    Args:
        state: the zone.
        builder: collects versions and verdicts.
        store: source of weather that is no longer in memory.
        entity: the entity; None: all that wait and have readings.
        arguments: "start" and "end" bound the history; "folder", below the data directory, holds
            models to import instead of training them.
    """
    names = _entities_to_start(state, entity)
    folder = arguments.get("folder")
    imported = None if folder is None else ImportedModels(builder.files.root / str(folder))
    data = _warm_up_data(state, store, names, arguments, imported)
    if imported is None:
        trained = yield from train(
            state.settings,
            data,
            representation=_representation(state),
            offset=len(state.columns),
        )
    else:
        trained = imported.models(names)
    late = _begin(state, names, data, trained)
    _record_start(state, builder, names, data)
    yield from learn_beside(state, builder, late)
    others = " and others" if len(names) > NAMED else ""
    message = (
        f"{', '.join(names[:NAMED])}{others} learned from {len(data.times)} rows, "
        f"{written(int(data.times[0]))} to {written(int(data.times[-1]))}, and forecast "
        "from now on"
    )
    errors = [model.validation_rmse for model in trained.predictors]
    validation = dict(zip(names, errors, strict=True))
    return message, {"entities": names, "rows": len(data.times), "validation": validation}


def _entities_to_start(state: ZoneState, entity: str | None) -> list[str]:
    if entity is not None:
        if entity in state.columns:
            raise DataError(f"{entity} has been warmed up already")
        return [entity]
    names = [
        name
        for name in state.entities
        if name not in state.columns and len(_waiting(state, name)) >= FEWEST_SAMPLES
    ]
    if not names:
        raise DataError(
            f"no entity of zone {state.zone.id} waits for its warm-up with {FEWEST_SAMPLES} "
            "readings or more; send their history to /v1/measurements first"
        )
    return names


def _waiting(state: ZoneState, name: str) -> Readings:
    parts = state.waiting.get(state.entities[name].number, [])
    return np.concatenate([np.empty(0, READING), *parts])


def _warm_up_data(
    state: ZoneState,
    store: Store,
    names: Sequence[str],
    arguments: Mapping[str, Any],
    imported: ImportedModels | None,
) -> WarmUpData:
    start, end = arguments.get("start"), arguments.get("end")
    if (
        state.rows is not None
    ):  # readings before the zone's clock are history; the others are learned as rows
        latest = state.rows.next - state.rows.step
        end = latest if end is None else min(int(end), latest)
    series = [
        on_clock(_waiting(state, name), step=state.zone.step, start=start, end=end)
        for name in names
    ]
    return arrange_history(
        [state.entities[name] for name in names],
        series,
        weather=_weather(state, store, series).frame(),
        zone=state.zone,
        scaling=state.scaling if imported is None else imported.scaling,
        extend=imported is None,
    )


def _weather(state: ZoneState, store: Store, series: Sequence[EntityReadings]) -> LatestWeather:
    """The weather of these times; from the store if it is no longer in memory."""
    if state.instance is None:
        return state.weather
    times = np.concatenate([times for times, _ in series])
    weather = LatestWeather(state.zone.variables)
    if len(times):
        first, last = int(times.min()), int(times.max())
        for issue in store.weather(state.zone.id, start=first, end=last + 1, until=state.position):
            weather.add(issue)
    return weather


def _representation(state: ZoneState) -> Model | None:
    if state.instance is None:
        return None
    shared = state.instance.autoencoders[0]
    return Model(shared.network, shared.params)


def _begin(
    state: ZoneState, names: Sequence[str], data: WarmUpData, trained: WarmUpModels
) -> LateReadings:
    """Deploy the first models and set the clock to the end of history; returns late readings."""
    if state.instance is None:
        settings = state.settings.core(state.zone.step)
        state.instance = trained.start(settings, data.x, data.y, names=names)
        state.row_times = np.concatenate([state.row_times, data.times])
        state.intervals.begin(
            state.instance.predict(data.x),
            data.y,
            x=data.x,
            times=data.times,
            limits=[_limits(state, data, at) for at in enumerate(names)],
        )
    else:
        for column, (name, model) in enumerate(zip(names, trained.predictors, strict=True)):
            _join(state, name, model, data=data, column=column)
    state.scaling = data.scaling
    for component in state.components:
        if component.entity is None or component.entity in names:
            component.approval = state.settings.approval
    return _enter(state, names, data)


def _join(state: ZoneState, name: str, model: Model, *, data: WarmUpData, column: int) -> None:
    instance = state.instance
    assert instance is not None
    measured = np.isfinite(data.y[:, column])
    before = instance.inputs.next_row
    instance.add(
        name,
        model,
        data.x[measured],
        data.y[measured, column],
        autoencoder=_representation(state),
    )
    added = instance.inputs.next_row - before
    state.row_times = np.concatenate([state.row_times, data.times[measured][:added]])
    state.intervals.join(
        DeployedModels(instance).predict(data.x[measured], columns_of(instance, name))[:, 0],
        data.y[measured, column],
        times=data.times[measured],
        limits=_limits(state, data, (column, name)),
    )


def _limits(state: ZoneState, data: WarmUpData, member: tuple[int, str]) -> tuple[float, float]:
    """Lower and upper limit of the power of an entity, in the scale of the models."""
    column, name = member
    entity, readings = state.entities[name], data.y[:, column].astype(np.float64)
    rated = entity.capacity and entity.capacity / data.scaling.power[name]
    return physical_limits(entity.kind, rated=rated, readings=readings)


def _enter(state: ZoneState, names: Sequence[str], data: WarmUpData) -> LateReadings:
    """Enter readings after the warm-up into rows; returns those of closed rows as late."""
    end, step = int(data.clock[-1]), state.zone.step
    readings = [on_clock(_waiting(state, name), step=step, start=None, end=None) for name in names]
    known = len(state.columns)
    state.columns += list(names)
    if state.rows is None:
        start = end + step - min(state.keep, len(data.clock)) * step
        state.rows = Rows(step=step, start=start, columns=0)
        state.rows.next = end + step
    for _ in names:
        state.rows.add_column()
    state.live.add_columns(len(names))
    late = [LateReadings(*_empty())]
    for column, (times, values) in enumerate(readings, start=known):
        columns = np.full(len(times), column, np.int64)
        held = times >= state.rows.start
        state.rows.put(columns[held], times[held], values[held])
        passed = (times > end) & (times < state.rows.next) & np.isfinite(values)
        late.append(LateReadings(columns[passed], times[passed], values[passed]))
    for name in names:
        state.waiting.pop(state.entities[name].number, None)
    return LateReadings(*(np.concatenate(parts) for parts in zip(*late, strict=True)))


def _empty() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float32)


def _record_start(
    state: ZoneState, builder: OutcomeBuilder, names: Sequence[str], data: WarmUpData
) -> None:
    """Record first versions of new components, and quarantined readings of the history."""
    moment = int(data.clock[-1])
    for component in state.components:
        if state.key(component) not in state.deployed:
            builder.deploy(component, time=moment)
    for place, column in np.argwhere(data.codes > Reason.GAP):
        reason = Reason(int(data.codes[place, column])).label
        name, time = names[int(column)], int(data.clock[place])
        builder.verdict(name, time, Flag.QUARANTINED, reason)
        state.quarantined.setdefault(name, {})[time] = float(data.power[place, column])
