"""Warm-up of a zone's entities, from received history or with imported models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np

from clearwatt.clear.warm_up import WarmUpModels
from clearwatt.data.quality import Reason
from clearwatt.errors import ClearwattError, ConfigurationError, DataError
from clearwatt.intervals import physical_limits
from clearwatt.service.learner.apply.adaptive_models import AdaptiveModels
from clearwatt.service.learner.apply.clear_models import ClearModels
from clearwatt.service.learner.apply.fleet_history import Replacement, learn_few
from clearwatt.service.learner.apply.imported_models import ImportedModels
from clearwatt.service.learner.apply.intake import LateReadings
from clearwatt.service.learner.apply.learning import learn_past_readings
from clearwatt.service.learner.apply.outcome_builder import OutcomeBuilder
from clearwatt.service.learner.apply.rows import Rows
from clearwatt.service.learner.apply.suspicion import learn_history
from clearwatt.service.learner.apply.warm_up_data import (
    FEWEST_SAMPLES,
    NAMED,
    EntityReadings,
    UnfitHistoryError,
    WarmUpData,
    arrange_history,
    name_reasons,
    sort_readings,
)
from clearwatt.service.learner.apply.watermark import find_series_watermark
from clearwatt.service.learner.apply.weather import LatestWeather
from clearwatt.service.learner.apply.zone_models import ValidationErrors, WarmUpSamples
from clearwatt.service.learner.apply.zone_state import ZoneState
from clearwatt.service.records import Flag
from clearwatt.service.store import Store
from clearwatt.service.times import text as written
from clearwatt.training.streams import Stream


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
            models to import instead of training them; "priors" has the digest of the prior of
            entities that can start from the fleet if their history is short.
    """
    names = _entities_to_start(state, entity)
    few = _entities_with_few(state, entity, names, arguments)
    if few:
        return (
            yield from learn_few(
                state, builder, store, names=few, priors=arguments.get("priors", {})
            )
        )
    folder = arguments.get("folder")
    unfit: dict[str, str] = {}
    with ExitStack() as stack:
        imported = (
            None
            if folder is None
            else ImportedModels(stack.enter_context(builder.files.open(str(folder))))
        )
        while True:
            try:
                data = _warm_up_data(state, store, names, arguments, imported)
                break
            except UnfitHistoryError as error:
                unfit |= error.reasons
                names = [name for name in names if name not in unfit]
                if entity is not None or not names:
                    raise
        trained = None if imported is None else imported.models(names)
    replaced = Replacement.withdraw(state, names)
    try:
        validation = yield from _begin(state, names, data, trained)
    except ClearwattError:
        if replaced is not None:
            replaced.undo(state)
        raise
    if replaced is not None:
        replaced.finish(state)
    late = _enter(state, names, data)
    if replaced is not None:
        replaced.restore_weather(state, store)
    learn_history(state, len(names), data.times, data.x, data.y)
    _record_start(state, builder, names, data)
    yield from learn_past_readings(state, builder, late)
    others = " and others" if len(names) > NAMED else ""
    message = (
        f"{', '.join(names[:NAMED])}{others} learned from {len(data.times)} rows, "
        f"{written(int(data.times[0]))} to {written(int(data.times[-1]))}, and forecast "
        "from now on"
    )
    details = {"entities": names, "rows": len(data.times), "validation": validation}
    if unfit:
        message += f"; left out, and waiting for a warm-up of their own: {name_reasons(unfit)}"
        details["left_out"] = unfit
    return message, details


def _entities_to_start(state: ZoneState, entity: str | None) -> list[str]:
    if entity is not None:
        if not _waits(state, entity):
            raise DataError(f"{entity} has been warmed up already")
        return [entity]
    return [
        name
        for name in state.entities
        if _waits(state, name) and len(state.waiting_readings(name)) >= FEWEST_SAMPLES
    ]


def _waits(state: ZoneState, name: str) -> bool:
    """Whether an entity has no networks of its own."""
    return name not in state.columns or name in state.fleet


def _entities_with_few(
    state: ZoneState, entity: str | None, names: Sequence[str], arguments: Mapping[str, Any]
) -> list[str]:
    """Entities with a short history, if they start from the fleet and no other has a long one."""
    priors = arguments.get("priors", {})
    if entity is None and names:
        return []
    few = [
        name
        for name in ([entity] if entity is not None else state.entities)
        if _waits(state, name)
        and (name in priors or name in state.fleet)
        and 0 < len(state.waiting_readings(name)) < FEWEST_SAMPLES
    ]
    if not few and not names:
        raise DataError(
            f"no entity of zone {state.zone.id} waits for its warm-up with {FEWEST_SAMPLES} "
            "readings or more; send their history to /v1/measurements first"
        )
    return few


def _warm_up_data(
    state: ZoneState,
    store: Store,
    names: Sequence[str],
    arguments: Mapping[str, Any],
    imported: ImportedModels | None,
) -> WarmUpData:
    start, end = arguments.get("start"), arguments.get("end")
    anew = set(state.columns) <= set(names)
    rows, scaling = (None, None) if anew else (state.rows, state.scaling)
    if rows is not None:  # readings before the zone's clock are history; others are learned as rows
        latest = rows.next - rows.step
        end = latest if end is None else min(int(end), latest)
    if end is None:
        received = [np.sort(state.waiting_readings(name)["time"]) for name in names]
        lateness = state.settings.lateness
        end = find_series_watermark(received, step=state.zone.step, lateness=lateness)
    series = [
        sort_readings(state.waiting_readings(name), step=state.zone.step, start=start, end=end)
        for name in names
    ]
    return arrange_history(
        [state.entities[name] for name in names],
        series,
        weather=_weather(state, store, series).frame(),
        zone=state.zone,
        scaling=scaling if imported is None else imported.scaling,
        extend=imported is None,
    )


def _weather(state: ZoneState, store: Store, series: Sequence[EntityReadings]) -> LatestWeather:
    """The weather of these times; from the store if it is no longer in memory."""
    if state.models is None:
        return state.weather
    times = np.concatenate([times for times, _ in series])
    weather = LatestWeather(state.zone.variables)
    if len(times):
        first, last = int(times.min()), int(times.max())
        for issue in store.weather(state.zone.id, start=first, end=last + 1, until=state.position):
            weather.add(issue)
    return weather


def _begin(
    state: ZoneState, names: Sequence[str], data: WarmUpData, imported: WarmUpModels | None
) -> Stream[ValidationErrors]:
    """Train the first models of entities, or take imported ones."""
    samples = WarmUpSamples(
        data.times,
        data.x,
        data.y,
        columns=data.scaling.columns(state.zone.id),
        limits=[_limits(state, data, member) for member in enumerate(names)],
    )
    models, intervals = state.models, state.intervals
    if imported is not None and state.settings.forecaster != "clear":
        raise ConfigurationError(
            f"models of an experiment can be imported only with the forecaster 'clear'; zone "
            f"{state.zone.id} has {state.settings.forecaster!r}"
        )
    if isinstance(models, ClearModels):
        validation = yield from models.join(names, samples, intervals, imported=imported)
    elif models is not None:
        validation = yield from models.join(names, samples, intervals)
    elif state.settings.forecaster == "clear":
        state.models, validation = yield from ClearModels.start(
            state.clear_zone, names, samples, intervals, imported=imported
        )
    else:
        state.models = yield from AdaptiveModels.start(
            state.zone.step, state.settings, names, samples, intervals
        )
        validation = {}
    if models is not None:
        for name in names:
            models.require_approval(name, required=state.settings.approval)
    state.scaling = data.scaling
    return validation


def _limits(state: ZoneState, data: WarmUpData, member: tuple[int, str]) -> tuple[float, float]:
    """Lower and upper limit of the power of an entity, in the scale of the models."""
    column, name = member
    entity, readings = state.entities[name], data.y[:, column].astype(np.float64)
    rated = entity.capacity and entity.capacity / data.scaling.power[name]
    return physical_limits(entity.kind, rated=rated, readings=readings)


def _enter(state: ZoneState, names: Sequence[str], data: WarmUpData) -> LateReadings:
    """Set the clock to the end of history; enter later readings, return those of closed rows."""
    end, step = int(data.clock[-1]), state.zone.step
    readings = [
        sort_readings(state.waiting_readings(name), step=step, start=None, end=None)
        for name in names
    ]
    known = len(state.columns)
    state.columns += list(names)
    if state.rows is None:
        start = end + step - min(state.rows_to_keep, len(data.clock)) * step
        state.rows = Rows(step=step, start=start, columns=0)
        state.rows.next = end + step
    for _ in names:
        state.rows.add_column()
    state.live.add_columns(len(names))
    state.leads.weeks.add_columns(len(names))
    lengths = [len(times) for times, _ in readings]
    columns = np.repeat(np.arange(known, len(state.columns), dtype=np.int64), lengths)
    times, values = (np.concatenate(parts) for parts in zip(*readings, strict=True))
    held = times >= state.rows.start
    lateness = state.settings.lateness
    state.rows.put(columns[held], times[held], values[held], lateness=lateness)
    for name in names:
        state.waiting.pop(state.entities[name].number, None)
    passed = (times > end) & (times < state.rows.next) & np.isfinite(values)
    return LateReadings(columns[passed], times[passed], values[passed])


def _record_start(
    state: ZoneState, builder: OutcomeBuilder, names: Sequence[str], data: WarmUpData
) -> None:
    """Record first versions of new components, and quarantined readings of the history."""
    moment = int(data.clock[-1])
    assert state.models is not None
    for version in state.models.first_versions(state.units):
        if version.key not in state.deployed:
            builder.deploy(version, time=moment)
    for place, column in np.argwhere(data.codes > Reason.GAP):
        reason = Reason(int(data.codes[place, column])).label
        name, time = names[int(column)], int(data.clock[place])
        builder.add_flag(name, time, Flag.QUARANTINED, reason)
        state.quarantined.setdefault(name, {})[time] = float(data.power[place, column])
