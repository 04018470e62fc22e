"""A CLeaR instance: shared representation, one predictor per entity, and the loop that runs them.

observe -> judge -> buffer -> trigger -> update -> deploy, for as long as samples come.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
from torch import Tensor

from clearwatt.arrays import Float32Array, Int64Array, checked_inputs, checked_targets
from clearwatt.clear.buffers import SampleRows
from clearwatt.clear.component import ClearSettings, Component, Model, SampleView
from clearwatt.clear.components import (
    Name,
    checked_autoencoder,
    entity_indices,
    make_autoencoder,
    make_components,
    make_predictor,
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
from clearwatt.files import Saved, digest_of, load_state, save_state
from clearwatt.strategies import Strategy
from clearwatt.training.fleet import one_thread
from clearwatt.training.networks import Network
from clearwatt.training.streams import Stream, drive

PRUNE_SLACK = 4096
"""Input rows that may be held beyond need before it is worth looking for them."""


class Instance:
    """An autoencoder and the predictors of its entities, learning from a stream.

    With an asynchronous strategy all entities share one autoencoder. With a synchronous one each
    predictor has its own, started from the shared warm-up model, because it updates with it.
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
        instance = cls.bare(
            settings, x.shape[1], autoencoder=autoencoder, predictors=predictors, names=names
        )
        x, y = instance._checked(x, y)
        rows = instance.inputs.append(x)
        for component in instance.autoencoders:
            instance._start_autoencoder(component, rows)
        for entity in range(len(predictors)):
            instance._start_predictor(entity, rows, y[:, entity])
        instance._prune()
        return instance

    @classmethod
    def bare(
        cls,
        settings: ClearSettings,
        width: int,
        *,
        autoencoder: Model,
        predictors: Sequence[Model],
        names: Sequence[Name] | None = None,
    ) -> Instance:
        """Components without thresholds or data yet, each with its own random numbers."""
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
        """Let another entity join, with the model and the samples of its warm-up.

        Args:
            name: Of the entity; no other has it.
            model: Its predictor, trained on the latents of the autoencoder it joins.
            x: InputStore of its warm-up, n x d; they become new rows.
            y: Its measurements, n; NaN where there is none.
            autoencoder: With a synchronous strategy the autoencoder it starts from, of the same
                network as the others; otherwise all share one, and this is not used.
        """
        inputs = checked_inputs(x, self.inputs.width)
        targets = checked_targets(np.reshape(y, (-1, 1)), len(inputs), [name])[:, 0]
        index, width = len(self.predictors), self.inputs.width
        require_unique(
            [*(part.entity for part in self.predictors if part.entity is not None), name]
        )
        own = checked_autoencoder(self.settings, self.autoencoders[0], autoencoder, name)
        require_latents(model, own or self.autoencoders[0], name)
        with self.rollback_on_error():
            rows = self.inputs.append(inputs)
            if own is not None:
                part = make_autoencoder(self.settings, own, width=width, index=index, entity=name)
                self.autoencoders += (part,)
                self._start_autoencoder(part, rows)
            part = make_predictor(self.settings, model, width=width, index=index, entity=name)
            self.predictors += (part,)
            self._start_predictor(index, rows, targets)
            self._prune()

    def observe(self, x: npt.ArrayLike, y: npt.ArrayLike) -> tuple[UpdateEvent, ...]:
        """Take in a block of the stream, however long, and return the updates it caused.

        All or nothing: if it is interrupted or fails, the instance is as it was before the block.

        Args:
            x: InputStore, n x d.
            y: Measurements, n x entities; NaN where there is none.
        """
        with self.rollback_on_error():
            deployed = drive(self.stream(x, y), stacked=not self.settings.precise)
        return tuple(deployment.event for deployment in deployed)

    def stream(self, x: npt.ArrayLike, y: npt.ArrayLike) -> Stream[list[Deployment]]:
        """Like `observe`, but hand out the training jobs instead of training them.

        Returns every update with the weights in service after it, in order. A stream must be run
        to its end; an abandoned one leaves a block partly applied, unless it runs within
        `rollback_on_error`. Samples get row numbers from ``inputs.next_row`` on, unless the
        strategy never updates.
        """
        inputs, targets = self._checked(x, y)
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
        """Learn from samples whose time has passed, as `stream` does from those whose time is now.

        The models now in service judge them. The autoencoder has seen their inputs when it was
        time and does not see them again; with a synchronous strategy a pair sees those that were
        measured for it. They get new row numbers; ``step`` stays, and the events bear it.
        """
        inputs, targets = self._checked(x, y)
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
        deployed.sort(key=lambda update: update.event.step)  # which of them fired first
        return self._record([each.at(self.step) for each in deployed])

    def forget(
        self, rows: npt.ArrayLike, entities: Sequence[Name] | None = None, *, inputs: bool = False
    ) -> int:
        """Let go of samples, so that nothing is learned from them any more and no file has them.

        What models have learned from them already stays learned.

        Args:
            rows: Their row numbers; what is not held is passed over.
            entities: Whose predictors forget; None: all.
            inputs: Whether the autoencoder forgets as well (or those of the entities, if each has
                its own).

        Returns:
            How many samples were held, counted for each component.
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
        """Replace a measurement by its row number, wherever its predictor holds it.

        Verdicts stand, and what models have learned from the old value stays learned.

        Returns:
            In how many places it was replaced; 0 if it is no longer held.
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

        Computed in double precision, so that a row's forecast does not depend on its neighbours.
        """
        models = [(self.autoencoder_of(i), part) for i, part in enumerate(self.predictors)]
        return forecasts(models, checked_inputs(x, self.inputs.width))

    def reconstruct(self, x: npt.ArrayLike, entity: int = 0) -> npt.NDArray[np.float64]:
        """Reconstructions (n x d) by the deployed autoencoder (of the entity, if synchronous)."""
        return reconstructions(self.autoencoder_of(entity), checked_inputs(x, self.inputs.width))

    @property
    def retained_bytes(self) -> int:
        """Bytes of the past, summed over the components."""
        return sum(part.retained_bytes for part in (*self.autoencoders, *self.predictors))

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        extra: Mapping[str, object] | None = None,
        extra_tensors: Mapping[str, Tensor] | None = None,
    ) -> None:
        """Write everything needed to go on into a folder, atomically.

        Args:
            path: The folder; made if missing, replaced if it holds an earlier state.
            extra: Plain values of the caller's, stored with it.
            extra_tensors: Tensors of the caller's, stored as "extra.<name>".
        """
        values, tensors = pack_instance(self)
        own = {f"extra.{name}": tensor for name, tensor in (extra_tensors or {}).items()}
        save_state(path, values | {"extra": dict(extra or {})}, {**tensors, **own})

    def digest(self) -> str:
        """A checksum of everything `save` keeps, the seconds that updates took apart.

        Two instances with equal digests are in the same state to the last bit and go on alike.
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
        """Read an instance back; it goes on as if it had never stopped.

        Args:
            path: The folder `save` wrote.
            strategy: The strategy, if it is not a built-in one.
            autoencoder: The autoencoder's network, if it is a module of your own.
            predictor: The predictors' network, if it is a module of your own.
        """
        return cls.restored(
            load_state(path), strategy=strategy, autoencoder=autoencoder, predictor=predictor
        )

    @classmethod
    def restored(
        cls,
        saved: Saved,
        *,
        strategy: Strategy | None = None,
        autoencoder: Network | None = None,
        predictor: Network | None = None,
    ) -> Instance:
        """Like `load`, from a state that has been read already."""
        try:
            origin = unpack_origin(
                saved.values,
                saved.tensors,
                strategy=strategy,
                autoencoder=autoencoder,
                predictor=predictor,
            )
            instance = cls.bare(
                origin.settings,
                origin.width,
                autoencoder=origin.autoencoder,
                predictors=origin.predictors,
                names=origin.names,
            )
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
        """The way back to now; as a context manager it is taken if the block fails."""
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
        """Let go of input rows nobody refers to any more."""
        parts = (*self.autoencoders, *self.predictors)
        self.inputs.keep(part.held.rows for part in parts)
        self._prune_at = 2 * len(self.inputs) + PRUNE_SLACK

    def _checked(self, x: npt.ArrayLike, y: npt.ArrayLike) -> tuple[Float32Array, Float32Array]:
        inputs = checked_inputs(x, self.inputs.width)
        names = [part.entity for part in self.predictors]
        return inputs, checked_targets(y, len(inputs), names)
