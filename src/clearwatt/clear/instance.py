"""A CLeaR instance: autoencoder, one predictor per entity, and the loop that runs them.

observe -> judge -> buffer -> trigger -> update -> deploy, for every block of samples.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
import numpy.typing as npt
from torch import Tensor

from clearwatt.arrays import Float32Array, Int64Array, checked_inputs, checked_targets
from clearwatt.clear.buffers import SampleRows
from clearwatt.clear.component import ClearSettings, Component, Model, SampleView
from clearwatt.clear.components import (
    checked_autoencoder,
    entity_indices,
    make_component,
    make_components,
    require_latents,
    require_unique,
)
from clearwatt.clear.events import UpdateEvent
from clearwatt.clear.forecasting import forecasts, reconstructions
from clearwatt.clear.inputs import InputStore
from clearwatt.clear.loop import (
    Deployment,
    InputBlock,
    input_view,
    latent_view,
    reconstructor,
    represent,
    represent_now,
    run_predictors,
)
from clearwatt.clear.rollback import Rollback
from clearwatt.clear.saving import pack_instance, restore_instance, unpack_origin, without_seconds
from clearwatt.clear.synchronous import Pair, run_pairs
from clearwatt.errors import ClearwattError, DataError, StateError
from clearwatt.files import SavedState, digest_of, load_state, save_state
from clearwatt.forecaster import Name
from clearwatt.packing import Packed
from clearwatt.strategies import Strategy
from clearwatt.training.fleet import one_thread
from clearwatt.training.networks import Network
from clearwatt.training.streams import Stream, drive

PRUNE_SLACK = 4096
"""Unneeded input rows that may be stored before they are searched and removed."""


class Instance:
    """An autoencoder and the predictors of its entities, which learn from a stream.

    With an asynchronous strategy all entities share one autoencoder. With a synchronous one each
    predictor has its own, which starts as the warm-up model and updates with the predictor.
    """

    def __init__(
        self,
        settings: ClearSettings,
        *,
        inputs: InputStore,
        autoencoders: Sequence[Component],
        predictors: Sequence[Component],
    ) -> None:
        self.settings = settings
        self.inputs = inputs
        self.autoencoders = tuple(autoencoders)
        self.predictors = tuple(predictors)
        self.step = 0
        self.events: tuple[UpdateEvent, ...] = ()
        self._prune_at = 0

    @classmethod
    @one_thread()
    def start(
        cls,
        settings: ClearSettings,
        x: Float32Array,
        y: Float32Array,
        *,
        autoencoder: Model,
        predictors: Sequence[Model],
        names: Sequence[Name] | None = None,
    ) -> Instance:
        """Deploy warm-up models with the data they were trained on: x (n x d), y (n x entities)."""
        instance = cls.create_empty(
            settings, x.shape[1], autoencoder=autoencoder, predictors=predictors, names=names
        )
        x, y = instance._check(x, y)
        rows = instance.inputs.append(x)
        for component in instance.autoencoders:
            instance._start_autoencoder(component, rows)
        for entity in range(len(predictors)):
            instance._start_predictor(entity, rows, y[:, entity])
        instance._prune()
        return instance

    @classmethod
    def create_empty(
        cls,
        settings: ClearSettings,
        width: int,
        *,
        autoencoder: Model,
        predictors: Sequence[Model],
        names: Sequence[Name] | None = None,
    ) -> Instance:
        """An instance whose components have no thresholds and no data yet."""
        labels = list(names if names is not None else range(len(predictors)))
        encoders, heads = make_components(
            settings, width, autoencoder=autoencoder, predictors=predictors, names=labels
        )
        return cls(settings, inputs=InputStore(width), autoencoders=encoders, predictors=heads)

    @one_thread()
    def add(
        self,
        name: Name,
        model: Model,
        x: npt.ArrayLike,
        y: npt.ArrayLike,
        *,
        autoencoder: Model | None = None,
    ) -> None:
        """Add an entity, with the model and the samples of its warm-up.

        Args:
            name: Unique name of the entity.
            model: Its predictor, trained on the latents of this instance.
            x: Inputs of its warm-up, n x d; they become new rows.
            y: Its measurements, n; NaN where there is none.
            autoencoder: With a synchronous strategy, the autoencoder of the entity, of the same
                network as the others. Not used otherwise.
        """
        inputs = checked_inputs(x, self.inputs.width)
        targets = checked_targets(np.reshape(y, (-1, 1)), len(inputs), [name])[:, 0]
        index, width = len(self.predictors), self.inputs.width
        require_unique(
            [*(part.entity for part in self.predictors if part.entity is not None), name]
        )
        own = checked_autoencoder(self.settings, self.autoencoders[0], autoencoder, name)
        require_latents(model, own or self.autoencoders[0], name)
        make = partial(make_component, width=width, index=index, entity=name)
        with self.rollback_on_error():
            rows = self.inputs.append(inputs)
            if own is not None:
                part = make("autoencoder", self.settings, own)
                self.autoencoders += (part,)
                self._start_autoencoder(part, rows)
            part = make("predictor", self.settings, model)
            self.predictors += (part,)
            self._start_predictor(index, rows, targets)
            self._prune()

    def remove(self, name: Name) -> None:
        """Remove an entity with its samples; the others, of which there must be one, stay."""
        (place,) = entity_indices(self.predictors, [name])
        if len(self.predictors) == 1:
            raise DataError(f"{name!r} is the only entity; an instance needs one")
        if self.settings.strategy.synchronous:
            self.autoencoders = _without(self.autoencoders, place)
        self.predictors = _without(self.predictors, place)
        self._prune()

    def observe(self, x: npt.ArrayLike, y: npt.ArrayLike) -> tuple[UpdateEvent, ...]:
        """Learn from a block of the stream of any length, and return the updates it caused.

        If the call is interrupted or fails, the instance is as it was before.

        Args:
            x: Inputs, n x d.
            y: Measurements, n x entities; NaN where there is none.
        """
        with self.rollback_on_error():
            deployed = drive(self.stream(x, y), stacked=not self.settings.precise)
        return tuple(deployment.event for deployment in deployed)

    def stream(self, x: npt.ArrayLike, y: npt.ArrayLike) -> Stream[list[Deployment]]:
        """Like `observe`, but yields the training jobs instead of training them.

        Returns every update with the weights in service after it, in order. A stream must be run
        to its end; an abandoned one leaves a block partly applied, unless it runs within
        `rollback_on_error`. Samples get row numbers from ``inputs.next_row`` on, unless the
        strategy never updates.
        """
        inputs, targets = self._check(x, y)
        deployed: list[Deployment] = []
        if self.settings.strategy.updates:
            block = self._block(inputs)
            if self.settings.strategy.synchronous:
                pairs = self._pairs()
                deployed = yield from run_pairs(pairs, [block] * len(pairs), targets.T)
            else:
                timeline = yield from represent(self.autoencoders[0], block, self.inputs)
                deployed = yield from run_predictors(
                    self.predictors, timeline, targets, inputs=self.inputs
                )
        self.step += len(inputs)
        return self._record(deployed)

    def stream_late(self, x: npt.ArrayLike, y: npt.ArrayLike) -> Stream[list[Deployment]]:
        """Like `stream`, for samples whose measurements arrived late.

        The models now in service judge them. The shared autoencoder has seen their inputs before
        and does not learn from them again; with a synchronous strategy, a pair learns from the
        samples measured for its entity. Samples get new row numbers. ``step`` does not change,
        and the events have this step.
        """
        inputs, targets = self._check(x, y)
        deployed: list[Deployment] = []
        if self.settings.strategy.updates:
            block = self._block(inputs)
            if self.settings.strategy.synchronous:
                measured = [np.flatnonzero(~np.isnan(column)) for column in targets.T]
                columns = [c[own] for c, own in zip(targets.T, measured, strict=True)]
                blocks = [block.at(own) for own in measured]
                deployed = yield from run_pairs(self._pairs(), blocks, columns)
            else:
                timeline = represent_now(self.autoencoders[0], block)
                deployed = yield from run_predictors(
                    self.predictors, timeline, targets, inputs=self.inputs
                )
        deployed.sort(key=lambda update: update.event.step)  # in the order of the triggers
        return self._record([each.at(self.step) for each in deployed])

    def forget(
        self, rows: npt.ArrayLike, entities: Sequence[Name] | None = None, *, inputs: bool = False
    ) -> int:
        """Remove samples, so that no later update and no saved file contains them.

        Models that have learned from them are not changed.

        Args:
            rows: Row numbers; those that are not stored are ignored.
            entities: Entities whose predictors forget; None: all.
            inputs: Whether the autoencoder forgets as well, or those of the entities, if each has
                its own.

        Returns:
            Number of removed samples, summed over the components.
        """
        numbers = np.asarray(rows, dtype=np.int64).reshape(-1)
        places = entity_indices(self.predictors, entities)
        parts = [self.predictors[place] for place in places]
        if inputs:
            encoders = {id(part): part for part in map(self.autoencoder_of, places)}
            parts += encoders.values()
        forgotten = sum(part.forget(numbers) for part in parts)
        self._prune()
        return forgotten

    def correct(self, row: int, entity: Name, value: float) -> int:
        """Replace the measurement of a row in the buffers and the history of its predictor.

        Verdicts and models that depend on the old value are not changed.

        Returns:
            Number of replaced values; 0 if the row is no longer stored.
        """
        if not abs(value) <= float(np.finfo(np.float32).max):
            raise DataError(f"the corrected value is {value}; it must be finite, else use forget")
        (place,) = entity_indices(self.predictors, [entity])
        return self.predictors[place].correct(row, value)

    def _pairs(self) -> list[Pair]:
        parts = zip(self.autoencoders, self.predictors, strict=True)
        return [Pair(encoder, predictor, self.inputs) for encoder, predictor in parts]

    def _block(self, x: Float32Array) -> InputBlock:
        steps = np.arange(self.step + 1, self.step + len(x) + 1, dtype=np.int64)
        return InputBlock(self.inputs.append(x), x, steps)

    def _record(self, deployed: list[Deployment]) -> list[Deployment]:
        deployed.sort(key=lambda update: update.event.step)
        self.events += tuple(update.event for update in deployed)
        if len(self.inputs) > self._prune_at:
            self._prune()
        return deployed

    def predict(self, x: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Forecasts (n x entities) by the deployed models for inputs (n x d).

        Computed in double precision, so that a forecast does not depend on the other rows.
        """
        models = [(self.autoencoder_of(i), part) for i, part in enumerate(self.predictors)]
        return forecasts(models, checked_inputs(x, self.inputs.width))

    def reconstruct(self, x: npt.ArrayLike, entity: int = 0) -> npt.NDArray[np.float64]:
        """Reconstructions (n x d) by the deployed autoencoder (of the entity, if synchronous)."""
        return reconstructions(self.autoencoder_of(entity), checked_inputs(x, self.inputs.width))

    @property
    def retained_bytes(self) -> int:
        """Bytes of past data, summed over the components."""
        return sum(part.retained_bytes for part in (*self.autoencoders, *self.predictors))

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        extra: Mapping[str, object] | None = None,
        extra_tensors: Mapping[str, Tensor] | None = None,
    ) -> None:
        """Write everything needed to continue into a folder, atomically.

        Args:
            path: The folder; created if missing, replaced if it holds an earlier state.
            extra: Plain values of the caller, stored with the state.
            extra_tensors: Tensors of the caller, stored as "extra.<name>".
        """
        values, tensors = pack_instance(self)
        own = {f"extra.{name}": tensor for name, tensor in (extra_tensors or {}).items()}
        save_state(path, values | {"extra": dict(extra or {})}, {**tensors, **own})

    def digest(self) -> str:
        """A checksum of everything `save` writes, without the seconds that updates took.

        Two instances with equal digests are equal bit by bit and continue in the same way.
        """
        values, tensors = pack_instance(self)
        return digest_of(without_seconds(values), tensors)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        strategy: Strategy | None = None,
        autoencoder: Network | None = None,
        predictor: Network | None = None,
    ) -> Instance:
        """Load an instance; it continues as if it had never stopped.

        Args:
            path: The folder `save` wrote.
            strategy: The strategy, if it is not a built-in one.
            autoencoder: The autoencoder's network, if it is a module of your own.
            predictor: The predictors' network, if it is a module of your own.
        """
        return cls.from_saved(
            load_state(path), strategy=strategy, autoencoder=autoencoder, predictor=predictor
        )

    @classmethod
    def from_saved(
        cls,
        saved: SavedState,
        *,
        strategy: Strategy | None = None,
        autoencoder: Network | None = None,
        predictor: Network | None = None,
    ) -> Instance:
        """Like `load`, from a state that is in memory."""
        try:
            origin = unpack_origin(
                Packed(saved.values, saved.tensors),
                strategy=strategy,
                autoencoder=autoencoder,
                predictor=predictor,
            )
            instance = cls.create_empty(**origin._asdict())
            restore_instance(instance, saved.values, saved.tensors)
        except (KeyError, TypeError, ValueError) as error:
            if isinstance(error, ClearwattError):
                raise
            raise StateError(f"the state in {saved.folder} is incomplete ({error!r})") from error
        return instance

    def autoencoder_of(self, entity: int) -> Component:
        """The autoencoder that represents an entity's inputs."""
        return self.autoencoders[entity if self.settings.strategy.synchronous else 0]

    def _latent_view(self, entity: int) -> SampleView:
        encoder = self.autoencoder_of(entity)
        return latent_view(reconstructor(encoder.network), encoder.params, self.inputs)

    def rollback_on_error(self) -> Rollback:
        """Snapshot of the state; restored if the with-block raises."""
        components = (*self.autoencoders, *self.predictors)
        parts = [self, *self.inputs.parts, *(each for part in components for each in part.parts)]
        return Rollback(parts, [component.rng for component in components])

    def _start_autoencoder(self, component: Component, rows: Int64Array) -> None:
        samples = SampleRows(rows, None)
        component.start(samples, input_view(self.inputs)(samples))

    def _start_predictor(self, entity: int, rows: Int64Array, y: Float32Array) -> None:
        measured = ~np.isnan(y)
        samples = SampleRows(rows[measured], y[measured])
        self.predictors[entity].start(samples, self._latent_view(entity)(samples))

    def _prune(self) -> None:
        """Remove input rows without references."""
        parts = (*self.autoencoders, *self.predictors)
        self.inputs.keep(part.all_samples.rows for part in parts)
        self._prune_at = 2 * len(self.inputs) + PRUNE_SLACK

    def _check(self, x: npt.ArrayLike, y: npt.ArrayLike) -> tuple[Float32Array, Float32Array]:
        inputs = checked_inputs(x, self.inputs.width)
        names = [part.entity for part in self.predictors]
        return inputs, checked_targets(y, len(inputs), names)


def _without(parts: tuple[Component, ...], place: int) -> tuple[Component, ...]:
    return (*parts[:place], *parts[place + 1 :])
