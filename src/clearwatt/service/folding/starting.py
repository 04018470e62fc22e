"""A zone's entities begin to learn: from history received, or with models brought along."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from clearwatt.clear.component import Model
from clearwatt.clear.deployed_models import DeployedModels, columns_of
from clearwatt.clear.model_saving import pack_network, unpack_model
from clearwatt.clear.warm_up import WarmUpModels
from clearwatt.data.quality import Reason
from clearwatt.data.scaling import Scaling
from clearwatt.errors import DataError, StateError
from clearwatt.files import load_state, save_state
from clearwatt.intervals import physical_limits
from clearwatt.service.folding.findings import Findings
from clearwatt.service.folding.intake import Late
from clearwatt.service.folding.learning import learn_beside
from clearwatt.service.folding.rows import Rows
from clearwatt.service.folding.warming import (
    FEWEST_SAMPLES,
    Prepared,
    Series,
    on_clock,
    prepare,
    train,
)
from clearwatt.service.folding.weather import Knots
from clearwatt.service.folding.zone_state import ZoneState
from clearwatt.service.records import READING, Flag, Readings
from clearwatt.service.store import Store
from clearwatt.service.times import text as written
from clearwatt.training.streams import Stream

NAMED = 5
"""Entities a message names before it says "and others"."""


def warm_up(
    state: ZoneState,
    findings: Findings,
    store: Store,
    *,
    entity: str | None,
    arguments: Mapping[str, Any],
) -> Stream[tuple[str, dict[str, Any]]]:
    """Start one entity, or all of the zone that have a history; says what came of it.

    Args:
        state: the zone.
        findings: where versions are noted.
        store: for weather that is no longer in memory.
        entity: who; None: all that wait and have readings.
        arguments: "start" and "end" bound the history; "folder", below the data directory, holds
            models that were brought along instead of being trained here.
    """
    names = _chosen(state, entity)
    folder = arguments.get("folder")
    brought = None if folder is None else Brought(findings.files.root / str(folder))
    prepared = _prepared(state, store, names, arguments, brought)
    if brought is None:
        trained = yield from train(
            state.settings,
            prepared,
            representation=_representation(state),
            offset=len(state.columns),
        )
    else:
        trained = brought.models(names)
    late = _begin(state, names, prepared, trained)
    _note(state, findings, names, prepared)
    yield from learn_beside(state, findings, late)
    others = " and others" if len(names) > NAMED else ""
    message = (
        f"{', '.join(names[:NAMED])}{others} learned from {len(prepared.times)} rows, "
        f"{written(int(prepared.times[0]))} to {written(int(prepared.times[-1]))}, and forecast "
        "from now on"
    )
    errors = [model.validation_rmse for model in trained.predictors]
    validation = dict(zip(names, errors, strict=True))
    return message, {"entities": names, "rows": len(prepared.times), "validation": validation}


class Brought:
    """Models of an experiment, in a folder: `scaling.json`, `autoencoder`, one folder per entity.

    Each model is a saved state with its network's description and its weights ("params.*"), as
    `keep_model` writes it.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.scaling = Scaling.load(folder / "scaling.json")

    def models(self, names: Sequence[str]) -> WarmUpModels:
        """The representation and the predictors of these entities."""
        return WarmUpModels(
            self._read("autoencoder"), [self._read(f"entity-{quote(n, safe='')}") for n in names]
        )

    def _read(self, name: str) -> Model:
        saved = load_state(self.folder / name)
        try:
            return unpack_model(saved.values, saved.tensors, None)
        except (KeyError, TypeError) as error:
            raise StateError(f"{self.folder / name} holds no model ({error!r})") from error


def keep_model(folder: Path, model: Model, *, entity: str | None = None) -> None:
    """Write a model for `Brought`: the representation, or an entity's predictor."""
    name = "autoencoder" if entity is None else f"entity-{quote(entity, safe='')}"
    weights = {f"params.{key}": tensor for key, tensor in model.params.items()}
    save_state(folder / name, {"network": pack_network(model.network)}, weights)


def _chosen(state: ZoneState, entity: str | None) -> list[str]:
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


def _prepared(
    state: ZoneState,
    store: Store,
    names: Sequence[str],
    arguments: Mapping[str, Any],
    brought: Brought | None,
) -> Prepared:
    start, end = arguments.get("start"), arguments.get("end")
    if state.rows is not None:  # behind the zone's clock is history; the rest will stream
        latest = state.rows.next - state.rows.step
        end = latest if end is None else min(int(end), latest)
    series = [
        on_clock(_waiting(state, name), step=state.zone.step, start=start, end=end)
        for name in names
    ]
    return prepare(
        [state.entities[name] for name in names],
        series,
        weather=_knots(state, store, series).frame(),
        zone=state.zone,
        scaling=state.scaling if brought is None else brought.scaling,
        extend=brought is None,
    )


def _knots(state: ZoneState, store: Store, series: Sequence[Series]) -> Knots:
    """The weather of that time, from the store where the zone has let go of it."""
    if state.instance is None:
        return state.knots
    times = np.concatenate([times for times, _ in series])
    knots = Knots(state.zone.variables)
    if len(times):
        first, last = int(times.min()), int(times.max())
        for issue in store.weather(state.zone.id, start=first, end=last + 1, until=state.position):
            knots.add(issue)
    return knots


def _representation(state: ZoneState) -> Model | None:
    if state.instance is None:
        return None
    shared = state.instance.autoencoders[0]
    return Model(shared.network, shared.params)


def _begin(
    state: ZoneState, names: Sequence[str], prepared: Prepared, trained: WarmUpModels
) -> Late:
    """Put first models into service and the clock to where history ends; gives what it skipped."""
    if state.instance is None:
        settings = state.settings.core(state.zone.step)
        state.instance = trained.start(settings, prepared.x, prepared.y, names=names)
        state.row_times = np.concatenate([state.row_times, prepared.times])
        state.intervals.begin(
            state.instance.predict(prepared.x),
            prepared.y,
            x=prepared.x,
            times=prepared.times,
            limits=[_limits(state, prepared, at) for at in enumerate(names)],
        )
    else:
        for column, (name, model) in enumerate(zip(names, trained.predictors, strict=True)):
            _join(state, name, model, prepared=prepared, column=column)
    state.scaling = prepared.scaling
    for component in state.components:
        if component.entity is None or component.entity in names:
            component.approval = state.settings.approval
    return _enter(state, names, prepared)


def _join(state: ZoneState, name: str, model: Model, *, prepared: Prepared, column: int) -> None:
    instance = state.instance
    assert instance is not None
    measured = np.isfinite(prepared.y[:, column])
    before = instance.inputs.next_row
    instance.add(
        name,
        model,
        prepared.x[measured],
        prepared.y[measured, column],
        autoencoder=_representation(state),
    )
    added = instance.inputs.next_row - before
    state.row_times = np.concatenate([state.row_times, prepared.times[measured][:added]])
    state.intervals.join(
        DeployedModels(instance).predict(prepared.x[measured], columns_of(instance, name))[:, 0],
        prepared.y[measured, column],
        times=prepared.times[measured],
        limits=_limits(state, prepared, (column, name)),
    )


def _limits(state: ZoneState, prepared: Prepared, member: tuple[int, str]) -> tuple[float, float]:
    """Between which powers an entity can be, in the scale of the models."""
    column, name = member
    entity, readings = state.entities[name], prepared.y[:, column].astype(np.float64)
    rated = entity.capacity and entity.capacity / prepared.scaling.power[name]
    return physical_limits(entity.kind, rated=rated, readings=readings)


def _enter(state: ZoneState, names: Sequence[str], prepared: Prepared) -> Late:
    """Readings after the warm-up go into rows; those behind the clock are learned beside it."""
    end, step = int(prepared.clock[-1]), state.zone.step
    readings = [on_clock(_waiting(state, name), step=step, start=None, end=None) for name in names]
    known = len(state.columns)
    state.columns += list(names)
    if state.rows is None:
        start = end + step - min(state.keep, len(prepared.clock)) * step
        state.rows = Rows(step=step, start=start, columns=0)
        state.rows.next = end + step
    for _ in names:
        state.rows.add_column()
    state.live.add_columns(len(names))
    late = [Late(*_empty())]
    for column, (times, values) in enumerate(readings, start=known):
        columns = np.full(len(times), column, np.int64)
        held = times >= state.rows.start
        state.rows.put(columns[held], times[held], values[held])
        passed = (times > end) & (times < state.rows.next) & np.isfinite(values)
        late.append(Late(columns[passed], times[passed], values[passed]))
    for name in names:
        state.waiting.pop(state.entities[name].number, None)
    return Late(*(np.concatenate(parts) for parts in zip(*late, strict=True)))


def _empty() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float32)


def _note(state: ZoneState, findings: Findings, names: Sequence[str], prepared: Prepared) -> None:
    """First versions of what is new, and the readings of the past that were not trusted."""
    moment = int(prepared.clock[-1])
    for component in state.components:
        if state.key(component) not in state.deployed:
            findings.deploy(component, time=moment)
    for place, column in np.argwhere(prepared.codes > Reason.GAP):
        reason = Reason(int(prepared.codes[place, column])).label
        name, time = names[int(column)], int(prepared.clock[place])
        findings.verdict(name, time, Flag.QUARANTINED, reason)
        state.quarantined.setdefault(name, {})[time] = float(prepared.power[place, column])
