"""A plain network on the same inputs, three ways: never, on the new alone, on everything again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np
import torch
from torch import Tensor

from clearwatt.benchmark.history import History, Power, Samples
from clearwatt.benchmark.peer import MULTIPLY_ADDS, Forecasts, Meter, Peer
from clearwatt.experiment.protocol import Floats
from clearwatt.fleet import UPDATE, Job, Training, train
from clearwatt.networks import Params, Predictor

Learning = Literal["frozen", "fine-tuned", "retrained"]

HELD_OUT = 0.2
"""Share of the samples that early stopping is decided on, as in the warm-up."""
LEAST = 10
"""Measured samples below which a training would only spoil the model."""


@dataclass(frozen=True)
class Network(Peer):
    """An MLP of each entity; those of a zone train stacked.

    Args:
        learning: "frozen" after the warm-up, "fine-tuned" on each so many new samples, or
            "retrained" from scratch on everything known after as many.
        every: new samples until it learns again.
        width: neurons of a hidden layer.
        layers: hidden layers.
        training: of a model from scratch; stops early.
        update: of a fine-tuning.
    """

    learning: Learning = "frozen"
    every: int = 3_000
    width: int = 64
    layers: int = 3
    training: Training = field(default_factory=Training)
    update: Training = UPDATE
    together: ClassVar[bool] = True

    @property
    def key(self) -> str:
        """Its name on the command line."""
        return f"mlp-{self.learning}"

    @property
    def label(self) -> str:
        """Its name in tables."""
        shape = f"MLP {self.layers} x {self.width}"
        if self.learning == "frozen":
            return f"{shape}, frozen after the warm-up"
        how = "fine-tuned" if self.learning == "fine-tuned" else "from scratch on everything"
        return f"{shape}, {how} every {self.every:,} samples"

    def forecast(self, history: History) -> Forecasts:
        """Train when enough is new, else go on with the models there are."""
        meter, power = Meter(history), np.empty((history.steps, len(history.entities)))
        models = _Models(self, history, meter)
        waiting = 0
        for each in history.rounds(history.day):
            waiting += each.new
            if not models.trained:
                models.from_scratch(each.known)
                waiting = 0
            elif waiting >= self.every and self.learning == "fine-tuned":
                models.fine_tune(_last(each.known, waiting))
                waiting = 0
            elif waiting >= self.every and self.learning == "retrained":
                models.from_scratch(each.known)
                waiting = 0
            power[each.steps] = models.forecast(each.x)
        return Forecasts(power, meter.costs)

    def seconds(self, history: History) -> float:
        """Weights times samples times epochs; early stopping takes about a quarter of them."""
        weights = history.x.shape[1] * self.width + self.layers * self.width**2
        times = history.steps // self.every if self.learning != "frozen" else 0
        passes = 0.25 * self.training.epochs * history.first
        if self.learning == "fine-tuned":
            passes += times * self.update.epochs * self.every
        else:
            passes += 0.25 * self.training.epochs * times * (history.first + history.steps / 2)
        cost: float = 3.0 * weights * passes * len(history.entities)
        return cost / MULTIPLY_ADDS


class _Models:
    """One model per entity, in a stack."""

    def __init__(self, peer: Network, history: History, meter: Meter) -> None:
        self._peer, self._meter, self._seed = peer, meter, history.seed
        self._network = Predictor(history.x.shape[1], peer.width, peer.layers)
        self._sample_bytes = history.sample_bytes
        self._params: list[Params] = []

    @property
    def trained(self) -> bool:
        return bool(self._params)

    def from_scratch(self, known: Samples) -> None:
        """Train new models on all that is known."""
        columns = range(known.y.shape[1])
        fresh = [self._network.initialise([self._seed + column]) for column in columns]
        jobs = [
            self._held_out_job(fresh[column], *known.of(column), seed=self._seed + column)
            for column in columns
        ]
        self._params = self._params or fresh
        self._train(jobs, list(columns), keep=self._peer.learning == "retrained")

    def fine_tune(self, new: Samples) -> None:
        """Go on training with new samples and nothing else."""
        sets = [(column, *new.of(column)) for column in range(new.y.shape[1])]
        sets = [(column, x, y) for column, x, y in sets if len(y) >= LEAST]
        jobs = [
            Job(
                network=self._network,
                params=self._params[column],
                inputs=torch.from_numpy(x),
                targets=torch.from_numpy(y[:, None]),
                training=self._peer.update,
                seed=self._seed + int(self._meter.trainings[column]),
            )
            for column, x, y in sets
        ]
        self._train(jobs, [column for column, _, _ in sets], keep=True)

    def forecast(self, x: Floats) -> Power:
        """Forecasts, n x entities."""
        rows = torch.from_numpy(x)[None]
        with torch.inference_mode():
            outputs = [self._network.forward(each, rows)[0, :, 0] for each in self._params]
        return np.stack([output.numpy() for output in outputs], axis=1).astype(np.float64)

    def _held_out_job(self, params: Params, x: Floats, y: Floats, *, seed: int) -> Job:
        order = torch.from_numpy(np.random.default_rng([seed, 7]).permutation(len(y)))
        held = max(1, round(HELD_OUT * len(y)))
        inputs, targets = torch.from_numpy(x), torch.from_numpy(y[:, None])
        first, last = order[:-held], order[-held:]
        return Job(
            network=self._network,
            params=params,
            inputs=inputs[first],
            targets=targets[first],
            training=self._peer.training,
            seed=seed,
            validation=(inputs[last], targets[last]),
        )

    def _train(self, jobs: Sequence[Job], columns: Sequence[int], *, keep: bool) -> None:
        with self._meter.learning():
            trained = train(jobs)
        for column, job, result in zip(columns, jobs, trained, strict=True):
            self._params[column] = result.params
            self._meter.trained(column)
            if keep:
                self._meter.holds(column, _samples_of(job) * self._sample_bytes)


def _samples_of(job: Job) -> int:
    held_out: Sequence[Tensor] = () if job.validation is None else (job.validation[0],)
    return len(job.inputs) + sum(len(each) for each in held_out)


def _last(samples: Samples, count: int) -> Samples:
    start = len(samples.y) - count
    return Samples(samples.x[start:], samples.y[start:], samples.times[start:])
