"""The CLeaR loop of one component, and the timeline of encoders that the autoencoder produces.

Model and threshold do not change between two updates. So samples are judged in blocks, which end
at the sample that fills the novelty buffer. The result equals that of judging one by one.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from clearwatt.arrays import Float32Array, Int64Array
from clearwatt.clear.buffers import SampleRows
from clearwatt.clear.component import Component, ModelVersion, SampleView
from clearwatt.clear.events import Signal, UpdateEvent
from clearwatt.clear.inputs import InputStore
from clearwatt.errors import ConfigurationError
from clearwatt.strategies import Batch
from clearwatt.training.networks import Network, Params, Reconstructor
from clearwatt.training.streams import Stream, run_together

LOOK_AHEAD = 16_384
"""Maximum number of samples judged at once."""
LEAST_AHEAD = 256
"""Minimum number of samples judged at once; smaller blocks cost more than judging some twice."""


@dataclass(frozen=True, eq=False)
class InputBlock:
    """A piece of the stream: row numbers (n), inputs (n x d), and the step after each (n)."""

    rows: Int64Array
    x: Float32Array
    steps: Int64Array

    def at(self, places: Int64Array) -> InputBlock:
        """The samples at these positions."""
        return InputBlock(self.rows[places], self.x[places], self.steps[places])


class ComponentInput(Protocol):
    """The samples of a block as a component sees them, each under the encoder of its time."""

    samples: SampleRows

    def judge(self, component: Component, start: int) -> npt.NDArray[np.bool_]:
        """Which of the next `look_ahead` samples from `start` on are novel to the component."""

    def view_after(self, stop: int) -> SampleView:
        """The view of a model that is trained after the samples before `stop`."""

    def step_after(self, stop: int) -> int:
        """The step of the stream after the samples before `stop`."""


class Deployment(NamedTuple):
    """An update of a component.

    Args:
        event: What happened, and why.
        params: Weights in service from the step after the event on.
        version: The trained model, in service or waiting for approval; None if it was refused.
    """

    event: UpdateEvent
    params: Params
    version: ModelVersion | None = None

    @classmethod
    def after(cls, event: UpdateEvent, component: Component) -> Deployment:
        """The update that a component has just made."""
        waiting, version = component.candidate, None
        if event.accepted:
            version = component.version
        elif waiting is not None and waiting.number == component.updates:
            version = waiting
        return cls(event, component.params, version)

    def at(self, step: int) -> Deployment:
        """The same update with another step."""
        return self._replace(event=replace(self.event, step=step))


def look_ahead(component: Component) -> int:
    """Number of samples to judge at once; no update can be due before the buffer is full."""
    room = component.settings.novelty_capacity - len(component.novelty)
    return min(LOOK_AHEAD, max(LEAST_AHEAD, room))


def run(component: Component, source: ComponentInput, trigger: Signal) -> Stream[list[Deployment]]:
    """The CLeaR loop of one component: judge, buffer, trigger, update, deploy."""
    deployments: list[Deployment] = []
    position, end = 0, len(source.samples.rows)
    while position < end:
        novel = source.judge(component, position)
        due = component.verdicts_until_full(novel)
        taken = due or len(novel)
        component.absorb(source.samples.at(slice(position, position + taken)), novel[:taken])
        position += taken
        if due:
            view, step = source.view_after(position), source.step_after(position)
            request = component.request(view, step=step, trigger=trigger)
            (trained,) = yield (request.job,)
            event = component.deploy(request, trained)
            deployments.append(Deployment.after(event, component))
    return deployments


class AutoencoderInput:
    """The samples of a block as the autoencoder sees them: the inputs themselves.

    ``latents`` (n x z) are computed while judging, each under the encoder of its time: samples
    judged ahead of an update are judged again after it.
    """

    def __init__(
        self, network: Reconstructor, block: InputBlock, inputs: InputStore, *, dtype: torch.dtype
    ) -> None:
        self.samples = SampleRows(block.rows, None)
        self.latents = torch.empty(len(block.x), network.latent, dtype=dtype)
        self._network, self._block, self._inputs = network, block, inputs

    def judge(self, component: Component, start: int) -> npt.NDArray[np.bool_]:
        """Compare inputs with their reconstruction."""
        piece = slice(start, start + look_ahead(component))
        x, params = self._block.x[piece], component.verdict_params
        self.latents[piece] = encode(self._network, params, x)
        with torch.no_grad():
            output = self._network.decode(params, self.latents[None, piece])[0]
        return component.judge(Batch(torch.from_numpy(x), None), output)

    def view_after(self, stop: int) -> SampleView:
        """The inputs, which do not depend on time."""
        return input_view(self._inputs)

    def step_after(self, stop: int) -> int:
        """The step of sample `stop - 1`; the autoencoder sees every sample of the block."""
        return int(self._block.steps[stop - 1])


@dataclass(frozen=True, eq=False)
class EncoderTimeline:
    """The encoders deployed during a block, and the latents (n x z) they compute.

    Encoder i is deployed from ``starts[i]`` on. With asynchronous updates, the timeline is the
    same for every entity of a zone.
    """

    network: Reconstructor
    block: InputBlock
    first: Params
    deployments: list[Deployment]
    latents: Tensor

    @cached_property
    def starts(self) -> list[int]:
        """The first position of the block for each encoder."""
        ends = [each.event.step for each in self.deployments]
        return [0, *np.searchsorted(self.block.steps, ends, side="right").tolist()]

    @cached_property
    def encoders(self) -> list[Params]:
        """The weights of each encoder."""
        return [self.first, *(each.params for each in self.deployments)]

    def version_at(self, position: int) -> int:
        """Index of the encoder of the sample at this position of the block."""
        return bisect_right(self.starts, position) - 1


def represent(
    component: Component, block: InputBlock, inputs: InputStore
) -> Stream[EncoderTimeline]:
    """Run the autoencoder over a block; returns which encoder was deployed when."""
    network, first = reconstructor(component.network), component.params
    source = AutoencoderInput(network, block, inputs, dtype=component.settings.dtype)
    deployed = yield from run(component, source, "reconstruction")
    return EncoderTimeline(network, block, first, deployed, source.latents)


def represent_now(component: Component, block: InputBlock) -> EncoderTimeline:
    """The timeline of a block under the deployed encoder, which does not learn from it."""
    network = reconstructor(component.network)
    latents = encode(network, component.verdict_params, block.x)
    return EncoderTimeline(network, block, component.params, [], latents)


class PredictorInput:
    """The samples of a block as a predictor sees them: latents of the measured ones."""

    def __init__(self, timeline: EncoderTimeline, y: Float32Array, inputs: InputStore) -> None:
        self._measured = np.flatnonzero(~np.isnan(y))
        self.samples = SampleRows(timeline.block.rows[self._measured], y[self._measured])
        self._targets = torch.from_numpy(y[self._measured])[:, None]
        self._timeline, self._inputs = timeline, inputs

    def judge(self, component: Component, start: int) -> npt.NDArray[np.bool_]:
        """Compare forecasts from latents with the measurements."""
        piece = slice(start, start + look_ahead(component))
        return component.judge(Batch(self._latents(self._measured[piece]), self._targets[piece]))

    def _latents(self, places: Int64Array) -> Tensor:
        first, last = int(places[0]), int(places[-1])
        if last - first + 1 == len(places):  # no gap: a view, not a copy
            return self._timeline.latents[first : last + 1]
        return self._timeline.latents.index_select(0, torch.from_numpy(places))

    def view_after(self, stop: int) -> SampleView:
        """The view of the encoder after sample `stop - 1`, with an update at that sample."""
        version = self._timeline.version_at(int(self._measured[stop - 1]) + 1)
        encoder = self._timeline.encoders[version]
        return latent_view(self._timeline.network, encoder, self._inputs)

    def step_after(self, stop: int) -> int:
        """The step of the last measured sample; unmeasured samples count as streamed, too."""
        return int(self._timeline.block.steps[self._measured[stop - 1]])


def run_predictors(
    predictors: Sequence[Component],
    timeline: EncoderTimeline,
    y: Float32Array,
    *,
    inputs: InputStore,
) -> Stream[list[Deployment]]:
    """Run each predictor over its column of y (n x entities); encoder updates come first."""
    sources = [PredictorInput(timeline, column, inputs) for column in y.T]
    streams = [
        run(component, source, "prediction")
        for component, source in zip(predictors, sources, strict=True)
    ]
    deployed = yield from run_together(streams)
    return [*timeline.deployments, *(update for updates in deployed for update in updates)]


def input_view(inputs: InputStore) -> SampleView:
    """The view of the autoencoder: inputs."""
    return lambda samples: Batch(_copy_to_torch(inputs.take(samples.rows)), None)


def latent_view(network: Reconstructor, encoder: Params, inputs: InputStore) -> SampleView:
    """The view of a predictor: latents of this encoder, with targets."""

    def view(samples: SampleRows) -> Batch:
        latents = encode(network, encoder, inputs.take(samples.rows))
        targets = None if samples.targets is None else torch.from_numpy(samples.targets)[:, None]
        return Batch(latents, targets)

    return view


def encode(network: Reconstructor, encoder: Params, x: Float32Array) -> Tensor:
    """Latents (n x z) of inputs (n x d), in the precision of the encoder's weights."""
    dtype = next(iter(encoder.values())).dtype
    with torch.no_grad():
        return network.encode(encoder, _copy_to_torch(x, dtype)[None])[0]


def _copy_to_torch(x: Float32Array, dtype: torch.dtype = torch.float32) -> Tensor:
    """Copy, so that alignment, and with it rounding, is torch's."""
    return torch.from_numpy(x).to(dtype, copy=True)


def reconstructor(network: Network) -> Reconstructor:
    """The network as a Reconstructor; a ConfigurationError if it is none."""
    if not isinstance(network, Reconstructor):
        raise ConfigurationError(
            f"{type(network).__name__} cannot serve as the autoencoder; "
            "it needs encode and decode (see docs/networks.md)"
        )
    return network
