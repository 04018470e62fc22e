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

from clearwatt.clear.component import ClearSettings, Component, Model, ModelVersion
from clearwatt.clear.deployed import ClearDeployed, Scales
from clearwatt.clear.instance import Instance
from clearwatt.clear.loop import Deployment
from clearwatt.clear.saving import pack_instance, without_seconds
from clearwatt.clear.warm_up import InstanceNetworks, WarmUp, WarmUpModels
from clearwatt.clock import Steps
from clearwatt.errors import StateError
from clearwatt.files import SavedState, digest_of
from clearwatt.forecaster import Forecaster, Name, Version
from clearwatt.packing import Packed, pack, tensors_below, unpack, with_prefix
from clearwatt.strategies import Strategy
from clearwatt.training.networks import Network
from clearwatt.training.standardisation import Standardisation
from clearwatt.training.streams import Stream, drive


@dataclass(frozen=True, eq=False)
class Bookkeeping:
    """What a forecaster keeps beside its instance.

    Args:
        scales: Of inputs and power.
        known: Last step learned from.
        steps: Step of each row of the instance, by row number.
        numbers: Version in service of each component, by title.
        warm_up: How the predictor of an entity that joins is trained.
    """

    scales: Scales
    known: int
    steps: Steps
    numbers: dict[str, int]
    warm_up: WarmUp

    def with_rows(self, at: Steps) -> Bookkeeping:
        """With the steps of rows that were added."""
        return replace(self, steps=np.concatenate([self.steps, at]))


class ClearForecaster(Forecaster):
    """The paper's instances as forecasters."""

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
        scales: Scales | None = None,
    ) -> Self:
        """Train the warm-up.

        Args:
            x: Inputs, `n x d`.
            y: Measurements, `n x e`; NaN where there is none.
            at: Steps, `n`, ascending.
            settings: Strategy, capacities, threshold and how updates train.
            networks: Of the autoencoder and of every predictor.
            warm_up: How the first models train; the paper's way by default.
            names: Names of the entities; by default numbers from 0 on.
            scales: Of inputs and power; by default their mean and deviation in the warm-up.
        """
        training = warm_up or WarmUp()
        rows, wide = np.asarray(x, np.float64), np.asarray(y, np.float64)
        used = scales or Scales.fit(rows, wide)
        models = drive(training.models(networks, *used.apply(rows, wide)))
        return cls.start(
            models, rows, wide, at, settings=settings, warm_up=training, names=names, scales=used
        )

    @classmethod
    def start(
        cls,
        models: WarmUpModels,
        x: npt.ArrayLike,
        y: npt.ArrayLike,
        at: npt.ArrayLike,
        *,
        settings: ClearSettings,
        warm_up: WarmUp,
        names: Sequence[Name] | None = None,
        scales: Scales | None = None,
    ) -> Self:
        """Deploy trained models with the samples of their warm-up; see `fit`.

        Without `scales`, inputs and power are taken as they are.
        """
        steps, wide = np.asarray(at, np.int64), np.asarray(y, np.float64)
        rows = np.asarray(x, np.float64)
        used = scales or Scales.identity(rows.shape[1], wide.shape[1])
        instance = Instance.start(
            settings,
            *used.apply(rows, wide),
            autoencoder=models.autoencoder,
            predictors=models.predictors,
            names=names,
        )
        return cls.continue_with(instance, steps, warm_up=warm_up, scales=used)

    @classmethod
    def continue_with(
        cls,
        instance: Instance,
        steps: Steps,
        *,
        warm_up: WarmUp,
        scales: Scales | None = None,
    ) -> Self:
        """A forecaster over an instance, with the step of each of its rows by row number."""
        used = scales or Scales.identity(instance.inputs.width, len(instance.predictors))
        return cls(instance, Bookkeeping(used, int(steps.max(initial=-1)), steps, {}, warm_up))

    @property
    def names(self) -> tuple[Name, ...]:
        """Names of the entities, `e`."""
        return tuple(part.entity for part in self.instance.predictors if part.entity is not None)

    @property
    def components(self) -> tuple[Component, ...]:
        """Every component of the instance."""
        return (*self.instance.autoencoders, *self.instance.predictors)

    @property
    def representation(self) -> Model:
        """The autoencoder that an entity joins with: the shared one, or that of the first."""
        shared = self.instance.autoencoders[0]
        return Model(shared.network, shared.params)

    @property
    def stacked(self) -> bool:
        """Whether jobs that wait together train together."""
        return not self.instance.settings.precise

    @property
    def deployed(self) -> ClearDeployed:
        """What forecasts are made with now."""
        parts = (self.instance.autoencoders, self.instance.predictors)
        encoders, heads = (
            tuple(Model(each.network, each.params) for each in part) for part in parts
        )
        return ClearDeployed(self.names, self.book.known, self.book.scales, encoders, heads)

    def learn(
        self, x: npt.ArrayLike, y: npt.ArrayLike, at: npt.ArrayLike
    ) -> Stream[tuple[Deployment, ...]]:
        """Learn from samples that have become known; see `Forecaster.learn`."""
        inputs, targets, steps = np.asarray(x), np.asarray(y), np.asarray(at, np.int64)
        cut = int(np.searchsorted(steps, self.book.known, side="right"))
        late = yield from self.learn_late(inputs[:cut], targets[:cut], steps[:cut])
        if cut == len(steps):
            return late
        new = slice(cut, None)
        rows, power = self.book.scales.apply(inputs[new], targets[new])
        updates = yield from self.instance.stream(rows, power)
        self._record(updates, steps[new])
        self.book = replace(self.book, known=int(steps[-1]))
        return (*late, *updates)

    def learn_late(
        self, x: npt.ArrayLike, y: npt.ArrayLike, at: npt.ArrayLike
    ) -> Stream[tuple[Deployment, ...]]:
        """Learn from samples beside the stream, in which their steps may still be to come."""
        steps = np.asarray(at, np.int64)
        if not len(steps):
            return ()
        updates = yield from self.instance.stream_late(*self.book.scales.apply(x, y))
        self._record(updates, steps)
        return tuple(updates)

    def join(
        self, name: Name, x: npt.ArrayLike, y: npt.ArrayLike, at: npt.ArrayLike
    ) -> Stream[tuple[Deployment, ...]]:
        """Let another entity join; see `Forecaster.join`."""
        wide = np.reshape(np.asarray(y, np.float64), (-1, 1))
        own, warm_up = Standardisation.fit(wide), self.book.warm_up
        (model,) = yield from replace(
            warm_up, seed=warm_up.seed + len(self.instance.predictors)
        ).predictors(
            self.instance.predictors[0].network,
            self.representation,
            self.book.scales.inputs.apply(np.asarray(x, np.float64)),
            own.apply(wide),
        )
        self.join_with(model, name, x, wide, at, scale=own)
        return ()

    def join_with(
        self,
        model: Model,
        name: Name,
        x: npt.ArrayLike,
        y: npt.ArrayLike,
        at: npt.ArrayLike,
        *,
        scale: Standardisation | None = None,
    ) -> None:
        """Let another entity join with a predictor that was trained on the `representation`.

        Without the `scale` of its power, measurements are taken as they are.
        """
        power = scale or Standardisation.identity(1)
        wide = np.reshape(np.asarray(y, np.float64), (-1, 1))
        self.instance.add(
            name,
            model,
            self.book.scales.inputs.apply(np.asarray(x, np.float64)),
            power.apply(wide)[:, 0],
            autoencoder=self.representation,
        )
        self.book = replace(self.book, scales=self.book.scales.with_entity(power))
        self._add_rows(np.asarray(at, np.int64))

    def leave(self, name: Name) -> None:
        """Let an entity leave; see `Forecaster.leave`."""
        place = self.names.index(name)
        titles = {part.title for part in self.components if part.entity == name}
        self.instance.remove(name)
        numbers = {title: own for title, own in self.book.numbers.items() if title not in titles}
        scales = self.book.scales.without_entity(place)
        self.book = replace(self.book, scales=scales, numbers=numbers)

    def forget(self, at: npt.ArrayLike, entities: Sequence[Name] | None = None) -> int:
        """Remove measurements, and inputs unless entities are named; see `Forecaster.forget`."""
        rows = np.flatnonzero(np.isin(self.book.steps, np.asarray(at, np.int64)))
        return self.instance.forget(rows, entities, inputs=entities is None)

    def correct(self, at: int, entity: Name, value: float) -> int:
        """Replace a measurement wherever it is held; see `Forecaster.correct`."""
        place, power = self.names.index(entity), self.book.scales.power
        scaled = float((value - power.mean[place]) / power.scale[place])
        rows = np.flatnonzero(self.book.steps == at).tolist()
        return sum(self.instance.correct(row, entity, scaled) for row in rows)

    def activate(self, version: Version) -> None:
        """Put a model of a component into service; see `Forecaster.activate`."""
        part = self._component_of(version)
        assert isinstance(version, ModelVersion)
        part.activate(version)
        self._count(part.title, version.number)

    def require_approval(self, entity: Name | None = None, *, required: bool = True) -> None:
        """Whether trained versions wait; see `Forecaster.require_approval`."""
        for part in self.components:
            if entity is None or part.entity == entity:
                part.approval = required

    def reject(self, version: Version) -> None:
        """Drop a candidate."""
        self._component_of(version).candidate = None

    def change_settings(self, settings: ClearSettings) -> None:
        """Use other settings for later verdicts and updates."""
        self.instance.settings = settings
        for part in self.components:
            part.settings = settings

    @property
    def versions(self) -> tuple[ModelVersion, ...]:
        """The models in service."""
        return tuple(
            replace(part.version, number=self.book.numbers.get(part.title, 0))
            for part in self.components
        )

    @property
    def candidates(self) -> tuple[ModelVersion, ...]:
        """The trained models that wait for approval."""
        waiting = (part.candidate for part in self.components)
        return tuple(version for version in waiting if version is not None)

    @property
    def held_samples(self) -> int:
        """Past samples held by the component that holds most."""
        return max(len(part.all_samples.rows) for part in self.components)

    @property
    def memory(self) -> int:
        """Past samples held at most; a strategy that replays the past may hold all of it."""
        settings, parts = self.instance.settings, self.components
        if settings.familiarity_capacity is None or any(p.history is not None for p in parts):
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
        book = pack(self.book)
        return Packed(
            {"instance": values, "book": book.values},
            with_prefix("instance.", tensors) | with_prefix("book.", book.tensors),
        )

    @classmethod
    def unpack(
        cls,
        packed: Packed,
        *,
        strategy: Strategy | None = None,
        autoencoder: Network | None = None,
        predictor: Network | None = None,
    ) -> Self:
        """The opposite of `pack`; it continues as if it had never stopped.

        Args:
            packed: What `pack` returned.
            strategy: The strategy, if it is not a built-in one.
            autoencoder: The autoencoder's network, if it is one of your own.
            predictor: The predictors' network, if it is one of your own.
        """
        values, tensors = packed
        if not {"instance", "book"} <= values.keys():
            raise StateError("the state holds no CLeaR forecaster; load one that was saved as such")
        saved = SavedState(values["instance"], tensors_below(tensors, "instance."), Path())
        instance = Instance.from_saved(
            saved, strategy=strategy, autoencoder=autoencoder, predictor=predictor
        )
        return cls(instance, unpack(Bookkeeping, values["book"], tensors_below(tensors, "book.")))

    def digest(self) -> str:
        """Checksum of the state, without the seconds that updates took."""
        values, tensors = self.pack()
        return digest_of(values | {"instance": without_seconds(values["instance"])}, tensors)

    def _add_rows(self, at: Steps) -> None:
        """Record the steps of samples; an instance that never updates has not stored them."""
        stored = self.instance.inputs.next_row - len(self.book.steps)
        self.book = self.book.with_rows(at[:stored])

    def _component_of(self, version: Version) -> Component:
        if isinstance(version, ModelVersion):
            for part in self.components:
                if (part.name, part.entity) == (version.component, version.entity):
                    return part
        raise StateError(f"{version!r} is no version of a component of this instance")

    def _record(self, updates: Sequence[Deployment], at: Steps) -> None:
        """Record the steps of samples, and the versions that came into service with them."""
        self._add_rows(at)
        for update in updates:
            if update.version is not None and update.event.accepted:
                self._count(self._component_of(update.version).title, update.version.number)

    def _count(self, title: str, number: int) -> None:
        self.book = replace(self.book, numbers=self.book.numbers | {title: number})
