"""The synchronous loop: an autoencoder and a predictor that always update together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from clearwatt.arrays import Float32Array
from clearwatt.clear.buffers import SampleRows
from clearwatt.clear.component import Component, Model, SampleView
from clearwatt.clear.events import Signal
from clearwatt.clear.inputs import InputStore
from clearwatt.clear.loop import (
    Deployment,
    InputBlock,
    encode,
    input_view,
    latent_view,
    look_ahead,
    reconstructor,
)
from clearwatt.clear.promotion import Assessment
from clearwatt.strategies import Archive, Batch
from clearwatt.training.fleet import Trained
from clearwatt.training.networks import JointNetwork, Params, Reconstructor
from clearwatt.training.streams import Stream, run_together


@dataclass(frozen=True, eq=False)
class Pair:
    """One entity's autoencoder and predictor over a shared store of inputs."""

    autoencoder: Component
    predictor: Component
    inputs: InputStore

    @property
    def joint(self) -> JointNetwork | None:
        """The network of both, if they train as one."""
        if not self.autoencoder.settings.strategy.trains_jointly:
            return None
        return JointNetwork.of(self.autoencoder.network, self.predictor.network)

    def run(self, block: InputBlock, y: Float32Array) -> Stream[list[Deployment]]:
        """Judge and buffer; update both as soon as either novelty buffer is full."""
        deployments: list[Deployment] = []
        position = 0
        while position < len(block.x):
            room = min(look_ahead(self.autoencoder), look_ahead(self.predictor))
            stop = min(position + room, len(block.x))
            taken, trigger = self._absorb(block, y, start=position, stop=stop)
            position += taken
            if trigger:
                deployments += yield from self._update(int(block.steps[position - 1]), trigger)
        return deployments

    def _absorb(
        self, block: InputBlock, y: Float32Array, *, start: int, stop: int
    ) -> tuple[int, Signal | None]:
        """Buffer samples up to the trigger; returns their number and the signal, if one fired."""
        x = block.x[start:stop]
        measured = np.flatnonzero(~np.isnan(y[start:stop]))
        targets = y[start:stop][measured]
        params = self.autoencoder.verdict_params
        latents = encode(self._network, params, x)
        with torch.no_grad():
            output = self._network.decode(params, latents[None])[0]
        novel_x = self.autoencoder.judge(Batch(torch.from_numpy(x), None), output)
        known_latents = latents[torch.from_numpy(measured)]
        novel_y = self.predictor.judge(Batch(known_latents, torch.from_numpy(targets)[:, None]))
        due_x, due_y = (
            self.autoencoder.verdicts_until_full(novel_x),
            self.predictor.verdicts_until_full(novel_y),
        )
        ends: dict[Signal, int] = {}
        if due_x:
            ends["reconstruction"] = due_x
        if due_y:
            ends["prediction"] = int(measured[due_y - 1]) + 1
        taken = min(ends.values(), default=len(x))
        known = int(np.searchsorted(measured, taken))
        rows = block.rows[start:stop]
        self.autoencoder.absorb(SampleRows(rows[:taken], None), novel_x[:taken])
        pairs = SampleRows(rows[measured[:known]], targets[:known])
        self.predictor.absorb(pairs, novel_y[:known])
        return taken, next((signal for signal, end in ends.items() if end == taken), None)

    def _update(self, step: int, trigger: Signal) -> Stream[list[Deployment]]:
        """First the autoencoder, then the predictor on its new latents; or both as one network."""
        settings, joint = self.autoencoder.settings, self.joint
        novel_x, novel_y = self.autoencoder.novelty.samples, self.predictor.novelty.samples
        generated = settings.strategy.generate(
            self._archive(), settings.novelty_capacity, self.autoencoder.rng
        )
        pseudo, whole = generated, None
        if joint is not None:
            params = joint.join(self.autoencoder.params, self.predictor.params)
            whole = Model(joint, params)
        elif generated is not None:
            pseudo = Batch(generated.inputs, None)
        request = self.autoencoder.request(
            input_view(self.inputs) if joint is None else self._labelled_view(),
            step=step,
            trigger=trigger,
            also_novel=novel_y,
            generated=pseudo,
            whole=whole,
        )
        (trained,) = yield (request.job,)
        head: Trained | None = None
        if joint is not None:
            trained, head = _split(joint, trained)
        first = self.autoencoder.assess(request, trained)
        encoder = self.autoencoder.params if first.reason else first.params
        request = self.predictor.request(
            self._view(encoder),
            step=step,
            trigger=trigger,
            also_novel=novel_x,
            generated=None if generated is None else self._encode(generated, encoder),
            encoder=self.autoencoder.state,
            deployed=None if settings.gate is None else self._view(self.autoencoder.params),
        )
        if head is None:
            (head,) = yield (request.job,)
        return self._decide_both(first, self.predictor.assess(request, head))

    def _decide_both(self, first: Assessment, second: Assessment) -> list[Deployment]:
        """With a gate or approval, both new models are deployed or none.

        A predictor trained on the latents of an encoder is useless without it. If the encoder is
        refused, the predictor was trained on the latents of the deployed one.
        """
        parts = self.autoencoder, self.predictor
        waits = any(part.approval for part in parts)
        refused = None
        if waits or self.autoencoder.settings.gate is not None:
            refused = second.reason and "its predictor was not put into service"
        if second.reason is None or not (first.reason or refused):
            for part in parts:  # earlier candidates belong together, too
                part.candidate = None
        event = self.autoencoder.decide(first, waits=waits, refused=refused)
        waiting = self.autoencoder.candidate if waits else None
        encoder = self.autoencoder.state if waiting is None else waiting.state
        events = (event, self.predictor.decide(second, waits=waits, encoder=encoder))
        return [Deployment.after(event, part) for event, part in zip(events, parts, strict=True)]

    def _archive(self) -> Archive:
        """The deployed models, which are those of the last update."""
        network, head = self._network, self.predictor.network

        def decode(latents: Tensor, params: Params | None = None) -> Tensor:
            return network.decode(params or self.autoencoder.params, latents[None])[0]

        def predict(latents: Tensor, params: Params | None = None) -> Tensor:
            return head.forward(params or self.predictor.params, latents[None])[0]

        return Archive(self.autoencoder.state, decode, predict, self.predictor.state)

    def _labelled_view(self) -> SampleView:
        """The view of both: inputs, and the power where the predictor has measured it, else NaN."""
        inputs, measured = input_view(self.inputs), self.predictor.window
        order = np.argsort(measured.rows)
        rows, targets = measured.rows[order], measured.targets
        assert targets is not None

        def view(samples: SampleRows) -> Batch:
            power = np.full((len(samples.rows), 1), np.nan, np.float32)
            places = np.searchsorted(rows, samples.rows)
            known = np.append(rows, -1)[places] == samples.rows
            power[known, 0] = targets[order[places[known]]]
            return Batch(inputs(samples).inputs, torch.from_numpy(power))

        return view

    def _view(self, encoder: Params) -> SampleView:
        return latent_view(self._network, encoder, self.inputs)

    def _encode(self, generated: Batch, encoder: Params) -> Batch:
        return Batch(encode(self._network, encoder, generated.inputs.numpy()), generated.targets)

    @property
    def _network(self) -> Reconstructor:
        return reconstructor(self.autoencoder.network)


def _split(joint: JointNetwork, trained: Trained) -> tuple[Trained, Trained]:
    """The results of autoencoder and predictor; each has half of the time."""
    parts = (trained._replace(params=part) for part in joint.split(trained.params))
    first, second = (part._replace(seconds=trained.seconds / 2) for part in parts)
    return first, second


def run_pairs(
    pairs: Sequence[Pair], blocks: Sequence[InputBlock], columns: Iterable[Float32Array]
) -> Stream[list[Deployment]]:
    """Run each pair over its block with its measurements."""
    parts = zip(pairs, blocks, columns, strict=True)
    deployed = yield from run_together([pair.run(block, column) for pair, block, column in parts])
    return [update for updates in deployed for update in updates]
