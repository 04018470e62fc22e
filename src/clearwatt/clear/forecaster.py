"""A CLeaR instance behind the interface of all forecasters."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

import numpy as np
import numpy.typing as npt

from clearwatt.arrays import Float32Array, Int64Array, checked_inputs, checked_targets
from clearwatt.clear.component import ClearSettings, Component, Model, ModelVersion
from clearwatt.clear.forecasting import forecasts
from clearwatt.clear.instance import Instance
from clearwatt.clear.loop import Deployment
from clearwatt.clear.model_saving import pack_network, unpack_network
from clearwatt.clear.saving import pack_instance, without_seconds
from clearwatt.clear.warm_up import InstanceNetworks, WarmUp
from clearwatt.clock import Steps
from clearwatt.errors import StateError
from clearwatt.files import SavedState, digest_of
from clearwatt.forecaster import Change, Deployed, Forecast, Forecaster, Name, Version
from clearwatt.packing import Packed, Values, pack, tensors_below, unpack, with_prefix
from clearwatt.strategies import ComponentName
from clearwatt.training.networks import Params
from clearwatt.training.standardisation import Standardisation
from clearwatt.training.streams import Stream, drive


@dataclass(frozen=True, eq=False)
class ClearVersion:
    """A trained model of one component.

    Args:
        component: Autoencoder or predictor.
        entity: Whose component; None: the autoencoder that all share.
        number: Counts the updates of the component; 0 is the warm-up.
        model: Weights, threshold and the state of the strategy.
    """

    component: ComponentName
    entity: Name | None
    number: int
    model: ModelVersion


@dataclass(frozen=True, eq=False)
class Scales:
    """Scale of inputs and of power, fixed by the warm-up."""

    inputs: Standardisation
    power: Standardisation


@dataclass(frozen=True, eq=False)
class SavedModel:
    """A network and its weights."""

    network: Values
    params: Params


@dataclass(frozen=True, eq=False)
class ClearDeployed(Deployed):
    """The models in service.

    Args:
        names: Names of the entities, `e`.
        known: Last step learned from.
        scales: Of inputs and power.
        autoencoders: One that all share, or one per entity.
        predictors: One per entity.
    """

    names: tuple[Name, ...]
    known: int
    scales: Scales
    autoencoders: tuple[SavedModel, ...]
    predictors: tuple[SavedModel, ...]

    def forecast(self, x: npt.ArrayLike, at: npt.ArrayLike) -> Forecast:
        """Forecasts for inputs `n x d` of steps `n`; see `Deployed.forecast`."""
        rows = checked_inputs(x, len(self.scales.inputs.mean)).astype(np.float64)
        scaled = self.scales.inputs.apply(rows)
        encoders, heads = (
            tuple(map(_model, part)) for part in (self.autoencoders, self.predictors)
        )
        encoders = encoders * len(heads) if len(encoders) == 1 else encoders
        power = self.scales.power.undo(forecasts(zip(encoders, heads, strict=True), scaled))
        return Forecast(np.asarray(at, np.int64), power, np.empty((*power.shape, 0)))

    def pack(self) -> Packed:
        """As plain values and tensors."""
        return pack(self)

    @classmethod
    def unpack(cls, packed: Packed) -> Self:
        """The opposite of `pack`."""
        return unpack(cls, *packed)


@dataclass(frozen=True, eq=False)
class Bookkeeping:
    """What a forecaster keeps beside its instance.

    Args:
        scales: Of inputs and power.
        known: Last step learned from.
        rows: Row numbers of the instance, `n`.
        steps: Step of each of these rows, `n`.
        numbers: Version in service of each component, by title.
        warm_up: How the predictor of an entity that joins is trained.
    """

    scales: Scales
    known: int
    rows: Int64Array
    steps: Steps
    numbers: dict[str, int]
    warm_up: WarmUp

    def with_rows(self, first: int, at: Steps) -> Bookkeeping:
        """With the steps of rows that were added from a row number on."""
        rows = np.arange(first, first + len(at), dtype=np.int64)
        known = max([self.known, *at[-1:].tolist()])
        return replace(
            self,
            known=known,
            rows=np.concatenate([self.rows, rows]),
            steps=np.concatenate([self.steps, at]),
        )


class ClearForecaster(Forecaster):
    """The paper's instances as forecasters; inputs and power are scaled by the warm-up."""

    def __init__(self, instance: Instance, book: Bookkeeping) -> None:
        self.instance, self.book = instance, book

    @classmethod
    def fit(
        cls,
        x: npt.ArrayLike,
        y: npt.ArrayLike,
        at: npt.ArrayLike,
        *,
        settings: ClearSettings,
        networks: InstanceNetworks,
        warm_up: WarmUp | None = None,
        names: Sequence[Name] | None = None,
    ) -> Self:
        """Train the warm-up: inputs `n x d`, measurements `n x e`, steps `n`."""
        steps, wide = np.asarray(at, np.int64), np.asarray(y, np.float64)
        rows = checked_inputs(x, networks.autoencoder.inputs).astype(np.float64)
        scales = Scales(Standardisation.fit(rows), Standardisation.fit(wide))
        training = warm_up or WarmUp()
        instance = drive(
            training.instance(
                settings, networks, scales.inputs.apply(rows), scales.power.apply(wide), names=names
            )
        )
        empty = np.empty(0, np.int64)
        book = Bookkeeping(scales, int(steps[-1]), empty, empty, {}, training)
        return cls(instance, book.with_rows(0, steps))

    @property
    def names(self) -> tuple[Name, ...]:
        """Names of the entities, `e`."""
        return tuple(part.entity for part in self.instance.predictors if part.entity is not None)

    @property
    def approval(self) -> bool:
        """Whether a trained version waits until it is activated."""
        return all(part.approval for part in self._parts)

    @approval.setter
    def approval(self, wanted: bool) -> None:
        for part in self._parts:
            part.approval = wanted

    @property
    def stacked(self) -> bool:
        """Whether jobs that wait together train together."""
        return not self.instance.settings.precise

    @property
    def deployed(self) -> ClearDeployed:
        """What forecasts are made with now."""
        parts = (self.instance.autoencoders, self.instance.predictors)
        encoders, heads = (
            tuple(SavedModel(pack_network(each.network), each.params) for each in part)
            for part in parts
        )
        return ClearDeployed(self.names, self.book.known, self.book.scales, encoders, heads)

    def learn(
        self, x: npt.ArrayLike, y: npt.ArrayLike, at: npt.ArrayLike
    ) -> Stream[tuple[Change, ...]]:
        """Learn from samples that have become known; see `Forecaster.learn`."""
        steps = np.asarray(at, np.int64)
        rows, power = self._scale(x, y)
        late = int(np.searchsorted(steps, self.book.known, side="right"))
        changes: list[Change] = []
        for part, passed in ((slice(0, late), True), (slice(late, None), False)):
            if not len(steps[part]):
                continue
            first = self.instance.inputs.next_row
            stream = self.instance.stream_late if passed else self.instance.stream
            updates = yield from stream(rows[part], power[part])
            self.book = self.book.with_rows(first, steps[part])
            changes += [self._change(update) for update in updates]
        return tuple(changes)

    def join(
        self, name: Name, x: npt.ArrayLike, y: npt.ArrayLike, at: npt.ArrayLike
    ) -> Stream[tuple[Change, ...]]:
        """Let another entity join; see `Forecaster.join`."""
        steps, wide = np.asarray(at, np.int64), np.reshape(np.asarray(y, np.float64), (-1, 1))
        scales = self.book.scales
        rows = scales.inputs.apply(np.asarray(x, np.float64))
        own, encoder = Standardisation.fit(wide), self.instance.autoencoders[0]
        power = own.apply(wide)
        representation = Model(encoder.network, encoder.params)
        network = self.instance.predictors[0].network
        (model,) = yield from self.book.warm_up.predictors(network, representation, rows, power)
        first, known = self.instance.inputs.next_row, self.book.known
        self.instance.add(name, model, rows, power[:, 0], autoencoder=representation)
        joined = Standardisation(
            np.concatenate([scales.power.mean, own.mean]),
            np.concatenate([scales.power.scale, own.scale]),
        )
        book = self.book.with_rows(first, steps)
        self.book = replace(book, known=known, scales=replace(scales, power=joined))
        return ()

    def forget(self, at: npt.ArrayLike, entities: Sequence[Name] | None = None) -> int:
        """Remove measurements; see `Forecaster.forget`."""
        rows = self.book.rows[np.isin(self.book.steps, np.asarray(at, np.int64))]
        return self.instance.forget(rows, entities)

    def correct(self, at: int, entity: Name, value: float) -> int:
        """Replace a measurement wherever it is held; see `Forecaster.correct`."""
        place, power = self.names.index(entity), self.book.scales.power
        scaled = float((value - power.mean[place]) / power.scale[place])
        rows = self.book.rows[self.book.steps == at].tolist()
        return sum(self.instance.correct(row, entity, scaled) for row in rows)

    def activate(self, version: Version) -> None:
        """Put a model of a component into service; see `Forecaster.activate`."""
        for part in self._parts:
            if not isinstance(version, ClearVersion):
                break
            if (part.name, part.entity) == (version.component, version.entity):
                model = version.model
                part.activate(model.params, model.threshold, model.state)
                self._count(part, version.number)
                return
        raise StateError(f"{version!r} is no version of a component of this instance")

    @property
    def versions(self) -> tuple[ClearVersion, ...]:
        """The models in service."""
        return tuple(self._version(part) for part in self._parts)

    @property
    def candidates(self) -> tuple[ClearVersion, ...]:
        """The trained models that wait for approval."""
        return tuple(
            ClearVersion(part.name, part.entity, part.candidate.number, part.candidate)
            for part in self._parts
            if part.approval and part.candidate is not None
        )

    @property
    def held_samples(self) -> int:
        """Past samples held by the component that holds most."""
        return max(len(part.all_samples.rows) for part in self._parts)

    @property
    def memory(self) -> int:
        """Past samples held at most; a strategy that replays the past may hold all of it."""
        settings = self.instance.settings
        if settings.familiarity_capacity is None or any(p.history is not None for p in self._parts):
            return sys.maxsize
        return settings.novelty_capacity + settings.familiarity_capacity

    @property
    def retained_bytes(self) -> int:
        """Bytes of the past that are held."""
        return self.instance.retained_bytes

    @contextmanager
    def checkpoint(self) -> Iterator[None]:
        """Snapshot of the state; restored if the with-block raises."""
        book = self.book
        try:
            with self.instance.rollback_on_error():
                yield
        except BaseException:
            self.book = book
            raise

    def pack(self) -> Packed:
        """Everything needed to continue, as plain values and tensors."""
        values, tensors = pack_instance(self.instance)
        kept = np.isin(self.book.rows, tensors["inputs.rows"].numpy())
        book = replace(self.book, rows=self.book.rows[kept], steps=self.book.steps[kept])
        own = pack(book)
        approval = [part.approval for part in self._parts]
        return Packed(
            {"instance": values, "book": own.values, "approval": approval},
            with_prefix("instance.", tensors) | with_prefix("book.", own.tensors),
        )

    @classmethod
    def unpack(cls, packed: Packed) -> Self:
        """The opposite of `pack`; it continues as if it had never stopped."""
        values, tensors = packed
        if not {"instance", "book", "approval"} <= values.keys():
            raise StateError("the state holds no CLeaR forecaster; load one that was saved as such")
        saved = SavedState(values["instance"], tensors_below(tensors, "instance."), Path())
        book = unpack(Bookkeeping, values["book"], tensors_below(tensors, "book."))
        forecaster = cls(Instance.from_saved(saved), book)
        for part, approval in zip(forecaster._parts, values["approval"], strict=True):
            part.approval = approval
        return forecaster

    def digest(self) -> str:
        """Checksum of the state, without the seconds that updates took."""
        values, tensors = self.pack()
        return digest_of(values | {"instance": without_seconds(values["instance"])}, tensors)

    @property
    def _parts(self) -> tuple[Component, ...]:
        return (*self.instance.autoencoders, *self.instance.predictors)

    def _scale(self, x: npt.ArrayLike, y: npt.ArrayLike) -> tuple[Float32Array, Float32Array]:
        scales = self.book.scales
        rows = checked_inputs(x, len(scales.inputs.mean)).astype(np.float64)
        power = checked_targets(y, len(rows), self.names).astype(np.float64)
        return scales.inputs.apply(rows), scales.power.apply(power)

    def _version(self, part: Component) -> ClearVersion:
        number = self.book.numbers.get(part.title, 0)
        model = ModelVersion(part.network, part.params, part.threshold, part.state, number)
        return ClearVersion(part.name, part.entity, number, model)

    def _count(self, part: Component, number: int) -> None:
        self.book = replace(self.book, numbers=self.book.numbers | {part.title: number})

    def _change(self, update: Deployment) -> Change:
        """The change by an update, with its version if that is in service."""
        event = update.event
        (part,) = (
            each
            for each in self._parts
            if (each.name, each.entity) == (event.component, event.entity)
        )
        if not event.accepted:
            return Change(event, None)
        self._count(part, self.book.numbers.get(part.title, 0) + 1)
        return Change(event, self._version(part))


def _model(saved: SavedModel) -> Model:
    return Model(unpack_network(saved.network, None), saved.params)
