"""A CLeaR instance: shared representation, one predictor per entity, and the loop that runs them.

observe -> judge -> buffer -> trigger -> update -> deploy, for as long as samples come.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import torch

from clearwatt.checkpoint import Checkpoint
from clearwatt.component import Component, Model, Settings, View
from clearwatt.errors import ClearwattError, StateError
from clearwatt.events import UpdateEvent
from clearwatt.fleet import one_thread
from clearwatt.intake import checked_inputs, checked_targets
from clearwatt.loop import (
    Block,
    Deployment,
    LatentLens,
    Timeline,
    input_view,
    latent_view,
    reconstructor,
    represent,
    run,
)
from clearwatt.memory import Floats, Inputs, Samples
from clearwatt.networks import Network, Params
from clearwatt.pairs import Pair
from clearwatt.persistence import origin_of, pack_instance, restore_instance, without_seconds
from clearwatt.state import Saved, digest_of, load_state, save_state
from clearwatt.strategies import Strategy
from clearwatt.streams import Stream, drive, together

PRUNE_SLACK = 4096
"""Input rows that may be held beyond need before it is worth looking for them."""


class Instance:
    """An autoencoder and the predictors of its entities, learning from a stream.

    With an asynchronous strategy all entities share one autoencoder. With a synchronous one each
    predictor has its own, started from the shared warm-up model, because it updates with it.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        inputs: Inputs,
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
        settings: Settings,
        x: Floats,
        y: Floats,
        *,
        autoencoder: Model,
        predictors: Sequence[Model],
        names: Sequence[int | str] | None = None,
    ) -> Instance:
        """Deploy warm-up models with the data they were trained on: x (n x d), y (n x entities)."""
        instance = cls.bare(
            settings, x.shape[1], autoencoder=autoencoder, predictors=predictors, names=names
        )
        x, y = instance._checked(x, y)
        inputs = instance.inputs
        rows = inputs.append(x)
        for component in instance.autoencoders:
            samples = Samples(rows, None)
            component.start(samples, input_view(inputs)(samples))
        for entity, component in enumerate(instance.predictors):
            measured = ~np.isnan(y[:, entity])
            samples = Samples(rows[measured], y[measured, entity])
            component.start(samples, instance._latent_view(entity)(samples))
        instance._prune()
        return instance

    @classmethod
    def bare(
        cls,
        settings: Settings,
        width: int,
        *,
        autoencoder: Model,
        predictors: Sequence[Model],
        names: Sequence[int | str] | None = None,
    ) -> Instance:
        """Components without thresholds or data yet, each with its own random numbers."""
        shared = not settings.strategy.synchronous
        labels = names if names is not None else range(len(predictors))
        return cls(
            settings,
            inputs=Inputs(width),
            autoencoders=[
                Component(
                    "autoencoder",
                    autoencoder,
                    settings=settings,
                    rng=np.random.default_rng([settings.seed, 0, index]),
                    sample_width=width,
                    entity=None if shared else label,
                )
                for index, label in enumerate(labels)
                if index == 0 or not shared
            ],
            predictors=[
                Component(
                    "predictor",
                    model,
                    settings=settings,
                    rng=np.random.default_rng([settings.seed, 1, index]),
                    sample_width=width + 1,
                    entity=label,
                )
                for index, (label, model) in enumerate(zip(labels, predictors, strict=True))
            ],
        )

    def observe(self, x: npt.ArrayLike, y: npt.ArrayLike) -> tuple[UpdateEvent, ...]:
        """Take in a block of the stream, however long, and return the updates it caused.

        All or nothing: if it is interrupted or fails, the instance is as it was before the block.

        Args:
            x: Inputs, n x d.
            y: Measurements, n x entities; NaN where there is none.
        """
        before = self._checkpoint()
        try:
            deployed = drive(self.stream(x, y), stacked=not self.settings.precise)
            return tuple(deployment.event for deployment in deployed)
        except BaseException:
            before.restore()
            raise

    def stream(self, x: npt.ArrayLike, y: npt.ArrayLike) -> Stream[list[Deployment]]:
        """Like `observe`, but hand out the training jobs instead of training them.

        Returns every update with the weights it put into service, in order. A stream must be run
        to its end; unlike `observe` it leaves an abandoned block half taken in.
        """
        inputs, targets = self._checked(x, y)
        deployed: list[Deployment] = []
        if self.settings.strategy.updates:
            block = Block(self.inputs.append(inputs), inputs, self.step)
            if self.settings.strategy.synchronous:
                deployed = yield from self._run_pairs(block, targets)
            else:
                timeline = yield from represent(self.autoencoders[0], block, self.inputs)
                deployed = yield from self._run_predictors(timeline, targets)
        self.step += len(inputs)
        deployed.sort(key=lambda deployment: deployment.event.step)
        self.events += tuple(deployment.event for deployment in deployed)
        if len(self.inputs) > self._prune_at:
            self._prune()
        return deployed

    def _run_predictors(self, timeline: Timeline, y: Floats) -> Stream[list[Deployment]]:
        lenses = [LatentLens(timeline, column, self.inputs) for column in y.T]
        streams = [
            run(component, lens, "prediction")
            for component, lens in zip(self.predictors, lenses, strict=True)
        ]
        deployed = yield from together(streams)
        return [*timeline.deployments, *(update for updates in deployed for update in updates)]

    def _run_pairs(self, block: Block, y: Floats) -> Stream[list[Deployment]]:
        pairs = zip(self.autoencoders, self.predictors, y.T, strict=True)
        streams = [Pair(a, p, self.inputs).run(block, column) for a, p, column in pairs]
        deployed = yield from together(streams)
        return [update for updates in deployed for update in updates]

    @one_thread()
    @torch.inference_mode()
    def predict(self, x: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Forecasts (n x entities) by the deployed models for inputs (n x d).

        Computed in double precision, so that a row's forecast does not depend on its neighbours.
        """
        values = torch.from_numpy(checked_inputs(x, self.inputs.width)).double()[None]
        columns = []
        latents: dict[int, torch.Tensor] = {}
        for entity, predictor in enumerate(self.predictors):
            encoder = self.autoencoder_of(entity)
            if id(encoder) not in latents:
                network = reconstructor(encoder.network)
                latents[id(encoder)] = network.encode(_double(encoder.params), values)
            output = predictor.network.forward(_double(predictor.params), latents[id(encoder)])
            columns.append(output[0, :, 0].numpy())
        return np.stack(columns, axis=1)

    @one_thread()
    @torch.inference_mode()
    def reconstruct(self, x: npt.ArrayLike, entity: int = 0) -> npt.NDArray[np.float64]:
        """Reconstructions (n x d) by the deployed autoencoder (of the entity, if synchronous)."""
        values = torch.from_numpy(checked_inputs(x, self.inputs.width)).double()[None]
        component = self.autoencoder_of(entity)
        output: npt.NDArray[np.float64] = component.network.forward(
            _double(component.params), values
        )[0].numpy()
        return output

    @property
    def retained_bytes(self) -> int:
        """Bytes of the past, summed over the components."""
        return sum(part.retained_bytes for part in (*self.autoencoders, *self.predictors))

    def save(
        self, path: str | os.PathLike[str], *, extra: Mapping[str, object] | None = None
    ) -> None:
        """Write everything needed to go on into a folder, atomically.

        Args:
            path: The folder; made if missing, replaced if it holds an earlier state.
            extra: Plain values of the caller's, stored with it.
        """
        values, tensors = pack_instance(self)
        save_state(path, values | {"extra": dict(extra or {})}, tensors)

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
            origin = origin_of(
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

    def _latent_view(self, entity: int) -> View:
        encoder = self.autoencoder_of(entity)
        return latent_view(reconstructor(encoder.network), encoder.params, self.inputs)

    def _checkpoint(self) -> Checkpoint:
        components = (*self.autoencoders, *self.predictors)
        parts = [self, *self.inputs.parts, *(each for part in components for each in part.parts)]
        return Checkpoint(parts, [component.rng for component in components])

    def _prune(self) -> None:
        """Let go of input rows nobody refers to any more."""
        parts = (*self.autoencoders, *self.predictors)
        self.inputs.keep(part.held.rows for part in parts)
        self._prune_at = 2 * len(self.inputs) + PRUNE_SLACK

    def _checked(self, x: npt.ArrayLike, y: npt.ArrayLike) -> tuple[Floats, Floats]:
        inputs = checked_inputs(x, self.inputs.width)
        names = [part.entity for part in self.predictors]
        return inputs, checked_targets(y, len(inputs), names)


def _double(params: Params) -> Params:
    return {name: tensor.double() for name, tensor in params.items()}
