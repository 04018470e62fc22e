"""The models of a zone whose forecaster is "clear": an instance of CLeaR."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

import numpy as np
from torch import Tensor

from clearwatt.arrays import BoolArray
from clearwatt.clear.component import Component, Model
from clearwatt.clear.deployed_models import DeployedModels, columns_of
from clearwatt.clear.detection import reconstruction_errors
from clearwatt.clear.events import UpdateEvent
from clearwatt.clear.instance import Instance
from clearwatt.clear.loop import Deployment
from clearwatt.clear.model_saving import pack_version, unpack_version
from clearwatt.clear.promotion import ModelVersion
from clearwatt.clear.warm_up import WarmUpModels
from clearwatt.errors import DataError
from clearwatt.files import SavedState
from clearwatt.service.learner.apply.clear_training import (
    train_first_models,
    train_one_by_one,
    validation_errors,
)
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
    TrainedVersion,
    ValidationErrors,
    WarmUpSamples,
    ZoneModels,
)
from clearwatt.service.settings import ZoneSettings
from clearwatt.service.status import ComponentStatus
from clearwatt.service.times import Times
from clearwatt.training.streams import Stream


class ClearZone(NamedTuple):
    """What the models know of their zone."""

    id: str
    step: int
    settings: ZoneSettings


class ClearModels(ZoneModels):
    """An instance; ``row_times`` gives the time of each of its row numbers.

    Args:
        zone: Its zone.
        instance: The models.
        row_times: Times (n) of its rows.
    """

    def __init__(self, zone: ClearZone, instance: Instance, row_times: Times) -> None:
        self.zone, self.instance, self.row_times = zone, instance, row_times

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
        instance = trained.start(
            zone.settings.clear_settings(zone.step), samples.x, samples.y, names=list(names)
        )
        models = cls(zone, instance, samples.times.copy())
        intervals.begin(
            instance.predict(samples.x),
            samples.y,
            x=samples.x,
            times=samples.times,
            limits=samples.limits,
        )
        models.require_approval(None, required=zone.settings.approval)
        return models, validation_errors(names, trained)

    @property
    def steps(self) -> int:
        """Number of rows learned from since the warm-up."""
        return self.instance.step

    @property
    def retained_bytes(self) -> int:
        """Bytes of the past that are held."""
        return self.instance.retained_bytes

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
                representation=self._representation,
                offset=len(self.instance.predictors),
            )
        )
        for column, (name, model) in enumerate(zip(names, trained.predictors, strict=True)):
            self._join(name, model, samples, column=column, intervals=intervals)
            self.require_approval(name, required=self.zone.settings.approval)
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
        instance, before = self.instance, self.instance.inputs.next_row
        measured = np.isfinite(samples.y[:, column])
        x, y, times = samples.x[measured], samples.y[measured, column], samples.times[measured]
        instance.add(name, model, x, y, autoencoder=self._representation)
        self._add_row_times(times, since=before)
        intervals.join(
            DeployedModels(instance).predict(x, columns_of(instance, name))[:, 0],
            y,
            times=times,
            limits=samples.limits[column],
        )

    @property
    def _representation(self) -> Model:
        shared = self.instance.autoencoders[0]
        return Model(shared.network, shared.params)

    def learn(
        self, rows: RowBlock, intervals: ZoneIntervals, units: PowerUnits
    ) -> Stream[LearningResult]:
        """Learn from closed rows; see `ZoneModels.learn`."""
        instance, covered = self.instance, rows.covered
        times, x, known = rows.times[covered], rows.x[covered], rows.known[covered]
        models, deployed, step = DeployedModels(instance), [], instance.step
        if rows.learns and len(x):
            row = instance.inputs.next_row
            deployed = yield from train_one_by_one(instance.stream(x, rows.targets[covered]))
            self._add_row_times(times, since=row)
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
        instance, before = self.instance, self.instance.inputs.next_row
        changes: list[ModelChange] = []
        for start in range(0, len(late.times), self.rows_at_once):
            piece = slice(start, start + self.rows_at_once)
            stream = instance.stream_late(late.x[piece], late.targets[piece])
            deployed = yield from train_one_by_one(stream)
            models = DeployedModels(instance)
            intervals.swap(models.deploy(deployed), models.predict)
            changes += self._changes(deployed, [late.moment] * len(deployed), units)
        self._add_row_times(late.times, since=before)
        return LearningResult(changes=tuple(changes))

    def was_learned(self, times: Times) -> BoolArray:
        """Which times (n) are those of rows."""
        return np.isin(times, self.row_times)

    def correct(self, time: int, name: str, value: float) -> None:
        """Replace a scaled reading; NaN removes it."""
        numbers = np.flatnonzero(self.row_times == time)
        if not np.isfinite(value):
            self.instance.forget(numbers, [name])
            return
        for number in numbers:
            self.instance.correct(int(number), name, value)

    def forget(self, names: Sequence[str] | None, start: int, end: int) -> tuple[int, Times]:
        """Forget samples with start <= time < end; see `ZoneModels.forget`."""
        numbers = np.flatnonzero((self.row_times >= start) & (self.row_times < end))
        chosen = None if names is None else list(names)
        count = self.instance.forget(numbers, chosen, inputs=names is None)
        return count, np.unique(self.row_times[numbers])

    def first_versions(self, units: PowerUnits) -> list[TrainedVersion]:
        """The models in service, as versions."""
        return [self._version(part, part, units) for part in self.components]

    def activate(self, key: str, saved: SavedState, intervals: ZoneIntervals) -> None:
        """Put a stored version of a component into service."""
        component = self._component(key)
        model = unpack_version(saved, component)
        component.activate(model.params, model.threshold, model.state)
        fresh = columns_of(self.instance, component.entity)
        intervals.swap(fresh, DeployedModels(self.instance).predict)

    def candidate(self, key: str) -> int | None:
        """The number of the version of a component that waits for approval."""
        waiting = self._component(key).candidate
        return None if waiting is None else waiting.number

    def drop_candidate(self, key: str) -> None:
        """Drop the version of a component that waits for approval."""
        self._component(key).candidate = None

    def require_approval(self, name: str | None, *, required: bool) -> None:
        """Whether new versions of an entity (None: of all) wait for approval."""
        for component in self.components:
            if name is None or component.entity == name:
                component.approval = required

    def has_component(self, key: str) -> bool:
        """Whether there is a component with this key."""
        return any(self._key(part) == key for part in self.components)

    def change_settings(self, settings: ZoneSettings) -> None:
        """Learn with other settings from now on."""
        self.zone = self.zone._replace(settings=settings)
        self.instance.settings = settings.clear_settings(self.zone.step)
        for component in self.components:
            component.settings = self.instance.settings

    def entity_status(self, name: str, unit: PowerUnit) -> ComponentStatus:
        """Threshold, buffers and updates of an entity's predictor."""
        return _status(self._component(f"predictor:{name}"), unit.size)

    def input_status(self) -> ComponentStatus:
        """Threshold, buffers and updates of the shared autoencoder."""
        return _status(self.instance.autoencoders[0], 1.0)

    def encoder_key(self, name: str) -> str | None:
        """The key of the autoencoder of an entity."""
        names = [part.entity for part in self.instance.predictors]
        return self._key(self.instance.autoencoder_of(names.index(name)))

    @property
    def revision(self) -> int | None:
        """None: web processes need the versions only."""
        return None

    def new_snapshot(self) -> ModelSnapshot | None:
        """Nothing beside the versions."""
        return None

    def save(self, folder: Path) -> None:
        """Write the instance; the zone's own state has the times of its rows."""
        self.instance.save(folder / "instance")

    @classmethod
    def load(cls, folder: Path, zone: ClearZone, tensors: Mapping[str, Tensor]) -> ClearModels:
        """Read the models of a zone, with the tensors of its own state."""
        return cls(zone, Instance.load(folder / "instance"), tensors["row_times"].numpy())

    def digest(self) -> str:
        """Checksum of the instance."""
        return self.instance.digest()

    @property
    def components(self) -> tuple[Component, ...]:
        """Every component of the instance."""
        return (*self.instance.autoencoders, *self.instance.predictors)

    def _component(self, key: str) -> Component:
        found = next((part for part in self.components if self._key(part) == key), None)
        if found is None:
            raise DataError(f"zone {self.zone.id} has no component {key!r}")
        return found

    def _key(self, component: Component) -> str:
        """The name of a component, unique across zones."""
        if component.name == "predictor":
            return f"predictor:{component.entity}"
        own = [] if component.entity is None else [str(component.entity)]
        return ":".join(["autoencoder", self.zone.id, *own])

    def _add_row_times(self, times: Times, *, since: int) -> None:
        """Append the times of new rows of the instance; a frozen instance has none."""
        count = self.instance.inputs.next_row - since
        self.row_times = np.concatenate([self.row_times, times[:count]])

    def _changes(
        self, deployed: Sequence[Deployment], moments: Sequence[int], units: PowerUnits
    ) -> tuple[ModelChange, ...]:
        self.instance.events = ()  # the store keeps them
        return tuple(
            self._change(each.event, moment, units)
            for each, moment in zip(deployed, moments, strict=True)
        )

    def _change(self, event: UpdateEvent, moment: int, units: PowerUnits) -> ModelChange:
        component = next(
            part
            for part in self.components
            if part.name == event.component and part.entity == event.entity
        )
        key, candidate = self._key(component), component.candidate
        unit = self._unit(component, units)
        event = event.in_unit(unit.size)
        waits = candidate is not None and candidate.number == component.updates
        version: TrainedVersion | None = None
        if event.accepted:
            version = self._version(component, component, units)
        elif candidate is not None and waits:
            version = self._version(component, candidate, units)
        return ModelChange(
            kind="update" if event.accepted else ("awaiting" if waits else "refused"),
            identity=f"update:{key}:{component.updates}",
            key=key,
            entity=None if event.entity is None else str(event.entity),
            time=moment,
            message=event.explain(unit.name),
            details=asdict(event),
            version=version,
        )

    def _version(
        self, component: Component, model: Component | ModelVersion, units: PowerUnits
    ) -> TrainedVersion:
        return TrainedVersion(
            key=self._key(component),
            component=component.name,
            entity=None if component.entity is None else str(component.entity),
            number=component.updates,
            threshold=float(model.threshold) * self._unit(component, units).size,
            content=pack_version(model),
        )

    def _unit(self, component: Component, units: PowerUnits) -> PowerUnit:
        """The unit of a component's errors: power has one, the representation has none."""
        if component.name != "predictor":
            return PowerUnit(1.0, "")
        return units[str(component.entity)]


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
