"""The CLeaR loop of one component, run to the trigger, and the timeline of encoders it leaves.

Between two updates neither model nor threshold changes, so samples are judged in blocks and cut at
the one that fills the novelty buffer; sample for sample, the outcome is that of judging singly.
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
from clearwatt.clear.component import Component, SampleView
from clearwatt.clear.events import Signal, UpdateEvent
from clearwatt.clear.inputs import InputStore
from clearwatt.errors import ConfigurationError
from clearwatt.strategies import Batch
from clearwatt.training.networks import Network, Params, Reconstructor
from clearwatt.training.streams import Stream, together

LOOK_AHEAD = 16_384
"""SampleRows judged at once at most."""
LEAST_AHEAD = 256
"""SampleRows judged at once at least: fewer would cost more than judging some of them twice."""


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
    """What a component sees of a block: its samples, each under the encoder of its time."""

    samples: SampleRows

    def judge(self, component: Component, start: int) -> npt.NDArray[np.bool_]:
        """Which samples from `start` on, some `ahead` of them, are novel to the component."""

    def view_after(self, stop: int) -> SampleView:
        """How a model trained once the samples before `stop` have passed sees its data."""

    def step_after(self, stop: int) -> int:
        """The stream's step once the samples before `stop` have passed."""


class Deployment(NamedTuple):
    """An update and the weights in service from the step after its event on."""

    event: UpdateEvent
    params: Params

    def at(self, step: int) -> Deployment:
        """The same, said to have come after so many samples."""
        return Deployment(replace(self.event, step=step), self.params)


def look_ahead(component: Component) -> int:
    """How many samples to judge at once: before its buffer is full no update can be due."""
    room = component.settings.novelty_capacity - len(component.novelty)
    return min(LOOK_AHEAD, max(LEAST_AHEAD, room))


def run(component: Component, lens: ComponentInput, trigger: Signal) -> Stream[list[Deployment]]:
    """The CLeaR loop of one component: judge, buffer, trigger, update, deploy."""
    deployments: list[Deployment] = []
    position, end = 0, len(lens.samples.rows)
    while position < end:
        novel = lens.judge(component, position)
        due = component.due(novel)
        taken = due or len(novel)
        component.absorb(lens.samples.at(slice(position, position + taken)), novel[:taken])
        position += taken
        if due:
            view, step = lens.view_after(position), lens.step_after(position)
            request = component.request(view, step=step, trigger=trigger)
            (trained,) = yield (request.job,)
            event = component.deploy(request, trained)
            deployments.append(Deployment(event, component.params))
    return deployments


class AutoencoderInput:
    """The autoencoder's: the inputs themselves.

    ``latents`` (n x z) are what judging leaves behind: each sample under the encoder of its time,
    because a sample that was judged ahead of an update is judged again after it.
    """

    def __init__(
        self, network: Reconstructor, block: InputBlock, inputs: InputStore, *, dtype: torch.dtype
    ) -> None:
        self.samples = SampleRows(block.rows, None)
        self.latents = torch.empty(len(block.x), network.latent, dtype=dtype)
        self._network, self._block, self._inputs = network, block, inputs

    def judge(self, component: Component, start: int) -> npt.NDArray[np.bool_]:
        """InputStore as they are, against their reconstruction."""
        piece = slice(start, start + look_ahead(component))
        x, params = self._block.x[piece], component.verdict_params
        self.latents[piece] = encode(self._network, params, x)
        with torch.no_grad():
            output = self._network.decode(params, self.latents[None, piece])[0]
        return component.judge(Batch(torch.from_numpy(x), None), output)

    def view_after(self, stop: int) -> SampleView:
        """InputStore as they are, at any time."""
        return input_view(self._inputs)

    def step_after(self, stop: int) -> int:
        """Every sample of the block is seen."""
        return int(self._block.steps[stop - 1])


@dataclass(frozen=True, eq=False)
class Timeline:
    """The encoders in force over a block, and the latents (n x z) they make of it.

    Encoder i is in force from ``starts[i]`` on. With asynchronous updates the timeline is the same
    for every entity of a zone.
    """

    network: Reconstructor
    block: InputBlock
    first: Params
    deployments: list[Deployment]
    latents: Tensor

    @cached_property
    def starts(self) -> list[int]:
        """The positions of the block from which each encoder is in force."""
        ends = [each.event.step for each in self.deployments]
        return [0, *np.searchsorted(self.block.steps, ends, side="right").tolist()]

    @cached_property
    def encoders(self) -> list[Params]:
        """The weights of each encoder."""
        return [self.first, *(each.params for each in self.deployments)]

    def version_at(self, position: int) -> int:
        """Which encoder represents the sample at this position of the block."""
        return bisect_right(self.starts, position) - 1


def represent(component: Component, block: InputBlock, inputs: InputStore) -> Stream[Timeline]:
    """Run the autoencoder over a block and note which encoder was in force when."""
    network, first = reconstructor(component.network), component.params
    lens = AutoencoderInput(network, block, inputs, dtype=component.settings.dtype)
    deployed = yield from run(component, lens, "reconstruction")
    return Timeline(network, block, first, deployed, lens.latents)


def represent_now(component: Component, block: InputBlock) -> Timeline:
    """A block under the encoder in force, which does not learn from it."""
    network = reconstructor(component.network)
    latents = encode(network, component.verdict_params, block.x)
    return Timeline(network, block, component.params, [], latents)


class PredictorInput:
    """A predictor's: latents of the measured samples, under the encoder of their time."""

    def __init__(self, timeline: Timeline, y: Float32Array, inputs: InputStore) -> None:
        self._measured = np.flatnonzero(~np.isnan(y))
        self.samples = SampleRows(timeline.block.rows[self._measured], y[self._measured])
        self._targets = torch.from_numpy(y[self._measured])[:, None]
        self._timeline, self._inputs = timeline, inputs

    def judge(self, component: Component, start: int) -> npt.NDArray[np.bool_]:
        """Latents against the measurements."""
        piece = slice(start, start + look_ahead(component))
        return component.judge(Batch(self._latents(self._measured[piece]), self._targets[piece]))

    def _latents(self, places: Int64Array) -> Tensor:
        first, last = int(places[0]), int(places[-1])
        if last - first + 1 == len(places):  # no gap: a view, not a copy
            return self._timeline.latents[first : last + 1]
        return self._timeline.latents.index_select(0, torch.from_numpy(places))

    def view_after(self, stop: int) -> SampleView:
        """An encoder updated at the very sample that filled the buffer is already in force."""
        version = self._timeline.version_at(int(self._measured[stop - 1]) + 1)
        encoder = self._timeline.encoders[version]
        return latent_view(self._timeline.network, encoder, self._inputs)

    def step_after(self, stop: int) -> int:
        """SampleRows without a measurement count as streamed, too."""
        return int(self._timeline.block.steps[self._measured[stop - 1]])


def run_predictors(
    predictors: Sequence[Component], timeline: Timeline, y: Float32Array, *, inputs: InputStore
) -> Stream[list[Deployment]]:
    """Run each predictor over its column of y (n x entities); the encoders' updates come first."""
    lenses = [PredictorInput(timeline, column, inputs) for column in y.T]
    streams = [
        run(component, lens, "prediction")
        for component, lens in zip(predictors, lenses, strict=True)
    ]
    deployed = yield from together(streams)
    return [*timeline.deployments, *(update for updates in deployed for update in updates)]


def input_view(inputs: InputStore) -> SampleView:
    """SampleRows as the autoencoder sees them."""
    return lambda samples: Batch(_copy_to_torch(inputs.take(samples.rows)), None)


def latent_view(network: Reconstructor, encoder: Params, inputs: InputStore) -> SampleView:
    """SampleRows as a predictor sees them through this encoder."""

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
    """In memory of torch's own, for the reason that `aligned` gives."""
    return torch.from_numpy(x).to(dtype, copy=True)


def reconstructor(network: Network) -> Reconstructor:
    """The network, if it can encode."""
    if not isinstance(network, Reconstructor):
        raise ConfigurationError(
            f"{type(network).__name__} cannot serve as the autoencoder; "
            "it needs encode and decode (see docs/networks.md)"
        )
    return network
