"""The models of a zone whose forecaster is "clear": an instance of CLeaR."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

import numpy as np

from clearwatt.arrays import BoolArray
from clearwatt.clear.component import Component, Model
from clearwatt.clear.deployed_models import DeployedModels, columns_of
from clearwatt.clear.detection import reconstruction_errors
from clearwatt.clear.forecaster import ClearForecaster
from clearwatt.clear.instance import Instance
from clearwatt.clear.loop import Deployment
from clearwatt.clear.model_saving import pack_version, unpack_version
from clearwatt.clear.promotion import ModelVersion
from clearwatt.clear.warm_up import WarmUpModels
from clearwatt.errors import DataError
from clearwatt.files import SavedState, load_state, save_state
from clearwatt.forecaster import Version
from clearwatt.packing import Packed, Tensors
from clearwatt.service.learner.apply.clear_training import (
    train_first_models,
    train_one_by_one,
    validation_errors,
)
from clearwatt.service.learner.apply.forecaster_models import ForecasterModels, change_kind
from clearwatt.service.learner.apply.intervals import ZoneIntervals
from clearwatt.service.learner.apply.zone_models import (
    LateBlock,
    LearningResult,
    LiveRows,
    ModelChange,
    ModelSnapshot,
    PowerUnit,
    PowerUnits,
    RowBlock,
    ValidationErrors,
    WarmUpSamples,
)
from clearwatt.service.settings import ZoneSettings
from clearwatt.service.status import ComponentStatus
from clearwatt.service.times import Times
from clearwatt.strategies import ComponentName
from clearwatt.training.streams import Stream

FOLDER = "clear"
"""Folder of the forecaster's state."""


class ClearZone(NamedTuple):
    """What the models know of their zone."""

    id: str
    step: int
    settings: ZoneSettings


class ClearModels(ForecasterModels[ClearForecaster]):
    """A forecaster of the paper; inputs and power come scaled.

    Args:
        zone: Its zone.
        forecaster: The forecaster.
    """

    def __init__(self, zone: ClearZone, forecaster: ClearForecaster) -> None:
        super().__init__(forecaster, zone.step)
        self.zone = zone

    @property
    def instance(self) -> Instance:
        """The CLeaR instance."""
        return self.forecaster.instance

    @classmethod
    def start(
        cls,
        zone: ClearZone,
        names: Sequence[str],
        samples: WarmUpSamples,
        intervals: ZoneIntervals,
        *,
        imported: WarmUpModels | None = None,
    ) -> Stream[tuple[ClearModels, ValidationErrors]]:
        """Train the first models, or start with imported ones."""
        trained = imported or (yield from train_first_models(zone.settings, samples))
        forecaster = ClearForecaster.start(
            trained,
            samples.x,
            samples.y,
            samples.times // zone.step,
            settings=zone.settings.clear_settings(zone.step),
            warm_up=zone.settings.warm_up(),
            names=list(names),
        )
        forecaster.require_approval(required=zone.settings.approval)
        intervals.begin(
            forecaster.instance.predict(samples.x),
            samples.y,
            x=samples.x,
            times=samples.times,
            limits=samples.limits,
        )
        return cls(zone, forecaster), validation_errors(names, trained)

    @property
    def steps(self) -> int:
        """Number of rows learned from since the warm-up."""
        return self.instance.step

    @property
    def rows_at_once(self) -> int:
        """Maximum number of rows learned at once; no component can update twice within them."""
        return self.instance.settings.novelty_capacity

    def join(
        self,
        names: Sequence[str],
        samples: WarmUpSamples,
        intervals: ZoneIntervals,
        *,
        imported: WarmUpModels | None = None,
    ) -> Stream[ValidationErrors]:
        """Add entities with their warm-up, or with imported models."""
        trained = imported or (
            yield from train_first_models(
                self.zone.settings,
                samples,
                representation=self.forecaster.representation,
                offset=len(self.instance.predictors),
            )
        )
        for column, (name, model) in enumerate(zip(names, trained.predictors, strict=True)):
            self._join(name, model, samples, column=column, intervals=intervals)
        return validation_errors(names, trained)

    def _join(
        self,
        name: str,
        model: Model,
        samples: WarmUpSamples,
        *,
        column: int,
        intervals: ZoneIntervals,
    ) -> None:
        measured = np.isfinite(samples.y[:, column])
        x, y, times = samples.x[measured], samples.y[measured, column], samples.times[measured]
        self.forecaster.join_with(model, name, x, y, times // self.step)
        columns = columns_of(self.instance, name)
        intervals.join(
            DeployedModels(self.instance).predict(x, columns)[:, 0],
            y,
            times=times,
            limits=samples.limits[column],
        )

    def learn(
        self, rows: RowBlock, intervals: ZoneIntervals, units: PowerUnits
    ) -> Stream[LearningResult]:
        """Learn from closed rows; see `ZoneModels.learn`."""
        instance, covered = self.instance, rows.covered
        times, x, known = rows.times[covered], rows.x[covered], rows.known[covered]
        models, step = DeployedModels(instance), instance.step
        deployed: tuple[Deployment, ...] = ()
        if rows.learns and len(x):
            stream = self.forecaster.learn(x, rows.targets[covered], times // self.step)
            deployed = yield from train_one_by_one(stream)
        places = [each.event.step - step for each in deployed]
        forecasts = np.full(rows.known.shape, np.nan)
        errors = np.full(len(rows.times), np.nan, np.float32)
        where = np.flatnonzero(covered)
        for piece, fresh in models.row_ranges(len(x), list(zip(places, deployed, strict=True))):
            intervals.swap(fresh, models.predict)
            found = models.predict(x[piece])
            forecasts[where[piece]] = found
            errors[where[piece]] = reconstruction_errors(
                x[piece], models.reconstruct(x[piece]).astype(np.float32)
            )
            intervals.observe(found, known[piece], x=x[piece], times=times[piece])
        live = LiveRows(rows.times, forecasts, errors, rows.readings)
        return LearningResult(
            (live,), self._changes(deployed, [int(times[place - 1]) for place in places], units)
        )

    def learn_late(
        self, late: LateBlock, intervals: ZoneIntervals, units: PowerUnits
    ) -> Stream[LearningResult]:
        """Learn from readings of closed rows, judged by the current models."""
        changes: list[ModelChange] = []
        for start in range(0, len(late.times), self.rows_at_once):
            piece = slice(start, start + self.rows_at_once)
            at = late.times[piece] // self.step
            stream = self.forecaster.learn_late(late.x[piece], late.targets[piece], at)
            deployed = yield from train_one_by_one(stream)
            models = DeployedModels(self.instance)
            intervals.swap(models.deploy(deployed), models.predict)
            changes += self._changes(deployed, [late.moment] * len(deployed), units)
        return LearningResult(changes=tuple(changes))

    def was_learned(self, times: Times) -> BoolArray:
        """Which times (n) are those of rows."""
        return np.isin(times // self.step, self.forecaster.book.steps)

    def note_day(self, time: int) -> None:
        """Nothing: all that is learned are versions and held samples."""

    def restore(self, name: str, time: int) -> None:
        """Nothing: see `note_day`."""

    def activate(self, key: str, saved: SavedState, intervals: ZoneIntervals) -> None:
        """Put a stored version of a component into service."""
        component = self._component_with(key)
        self.forecaster.activate(unpack_version(saved, component))
        fresh = columns_of(self.instance, component.entity)
        intervals.swap(fresh, DeployedModels(self.instance).predict)

    def change_settings(self, settings: ZoneSettings) -> None:
        """Learn with other settings from now on."""
        self.zone = self.zone._replace(settings=settings)
        self.forecaster.change_settings(settings.clear_settings(self.zone.step))

    def entity_status(self, name: str, unit: PowerUnit) -> ComponentStatus:
        """Threshold, buffers and updates of an entity's predictor."""
        return _status(self._component_with(f"predictor:{name}"), unit.size)

    def input_status(self) -> ComponentStatus:
        """Threshold, buffers and updates of the shared autoencoder."""
        return _status(self.instance.autoencoders[0], 1.0)

    def encoder_key(self, name: str) -> str | None:
        """The key of the autoencoder of an entity."""
        place = self.forecaster.names.index(name)
        return self._key(self.instance.autoencoder_of(place).version)

    @property
    def revision(self) -> int | None:
        """None: web processes need the versions only."""
        return None

    def new_snapshot(self) -> ModelSnapshot | None:
        """Nothing beside the versions."""
        return None

    def save(self, folder: Path) -> None:
        """Write the forecaster."""
        save_state(folder / FOLDER, *self.forecaster.pack())

    @classmethod
    def load(cls, folder: Path, zone: ClearZone, tensors: Tensors) -> ClearModels:
        """Read the models of a zone; `tensors` are those of its own state.

        Earlier releases wrote the instance alone, and the times of its rows to the zone's state.
        """
        if (folder / FOLDER).exists():
            saved = load_state(folder / FOLDER)
            return cls(zone, ClearForecaster.unpack(Packed(saved.values, saved.tensors)))
        instance = Instance.load(folder / "instance")
        steps = tensors["row_times"].numpy() // zone.step
        forecaster = ClearForecaster.continue_with(instance, steps, warm_up=zone.settings.warm_up())
        return cls(zone, forecaster)

    @property
    def _learned_steps(self) -> range:
        """From the first step of the warm-up to the last one learned from."""
        book = self.forecaster.book
        first, last = (int(end(initial=book.known)) for end in (book.steps.min, book.steps.max))
        return range(first, last + 1)

    def _component_with(self, key: str) -> Component:
        parts = self.forecaster.components
        found = next((part for part in parts if self._key(part.version) == key), None)
        if found is None:
            raise DataError(f"zone {self.zone.id} has no component {key!r}")
        return found

    def _key(self, version: Version) -> str:
        if self._component(version) == "predictor":
            return f"predictor:{version.entity}"
        own = [] if version.entity is None else [str(version.entity)]
        return ":".join(["autoencoder", self.zone.id, *own])

    def _component(self, version: Version) -> ComponentName:
        return _model(version).component

    def _threshold(self, version: Version, units: PowerUnits) -> float:
        return float(_model(version).threshold) * _unit(_model(version), units).size

    def _content(self, version: Version) -> Packed:
        return pack_version(_model(version))

    def _changes(
        self, deployed: Sequence[Deployment], moments: Sequence[int], units: PowerUnits
    ) -> tuple[ModelChange, ...]:
        self.instance.events = ()  # the store keeps them
        return tuple(
            self._change(each, moment, units)
            for each, moment in zip(deployed, moments, strict=True)
        )

    def _change(self, update: Deployment, moment: int, units: PowerUnits) -> ModelChange:
        event = update.event
        (component,) = (
            part
            for part in self.forecaster.components
            if (part.name, part.entity) == (event.component, event.entity)
        )
        key, unit = self._key(component.version), _unit(component.version, units)
        event = event.in_unit(unit.size)
        return ModelChange(
            kind=change_kind(update.version, accepted=event.accepted),
            identity=f"update:{key}:{component.updates}",
            key=key,
            entity=None if event.entity is None else str(event.entity),
            time=moment,
            message=event.explain(unit.name),
            details=asdict(event),
            version=None if update.version is None else self._trained(update.version, units),
        )


def _model(version: Version) -> ModelVersion:
    assert isinstance(version, ModelVersion)
    return version


def _unit(version: ModelVersion, units: PowerUnits) -> PowerUnit:
    """The unit of a component's errors: power has one, the representation has none."""
    if version.component != "predictor":
        return PowerUnit(1.0, "")
    return units[str(version.entity)]


def _status(component: Component, size: float) -> ComponentStatus:
    threshold = component.threshold * size
    return ComponentStatus(
        threshold=threshold if math.isfinite(threshold) else None,
        novel=len(component.novelty),
        familiar=component.familiarity.seen,
        capacity=component.settings.novelty_capacity,
        updates=component.updates,
        approval=component.approval,
    )
