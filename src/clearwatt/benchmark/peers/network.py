"""A plain network on the same inputs: frozen, fine-tuned on new samples, or retrained."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import torch

from clearwatt.arrays import Float32Array
from clearwatt.benchmark.history import KnownSamples, Power, ZoneHistory
from clearwatt.benchmark.peer import CostMeter, Forecasts, Peer
from clearwatt.experiment.tasks import training_cost
from clearwatt.runs.work import MULTIPLY_ADDS
from clearwatt.training.fleet import Job, Training, train
from clearwatt.training.networks import Params, Predictor

UpdateMode = Literal["frozen", "fine-tuned", "retrained"]

EPOCHS = Training(epochs=10, patience=None)
"""Few epochs: samples an hour apart are similar, so early stopping on a random part of them stops
far too late (docs/leaderboard.md)."""
MIN_SAMPLES = 10
"""Least measured samples for a training; fewer make the model worse."""


@dataclass(frozen=True)
class PlainNetwork(Peer):
    """One MLP per entity; those of a zone train stacked.

    Args:
        learning: "frozen" after the warm-up, "fine-tuned" on every batch of new samples, or
            "retrained" from scratch on everything known.
        every: number of new samples between two trainings.
        width: neurons of a hidden layer.
        layers: hidden layers.
        training: of a model from scratch, and of a fine-tuning.
    """

    learning: UpdateMode = "frozen"
    every: int = 3_000
    width: int = 64
    layers: int = 3
    training: Training = EPOCHS
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

    def forecast(self, history: ZoneHistory) -> Forecasts:
        """Train when there are enough new samples; forecast day by day."""
        meter, power = CostMeter(history), np.empty((history.steps, len(history.entities)))
        models = _ModelStack(self, history, meter)
        waiting = 0
        for each in history.rounds(history.day):
            waiting += each.new
            if not models.is_trained:
                models.from_scratch(each.known)
                waiting = 0
            elif waiting >= self.every and self.learning == "fine-tuned":
                models.fine_tune(each.known.last(waiting))
                waiting = 0
            elif waiting >= self.every and self.learning == "retrained":
                models.from_scratch(each.known)
                waiting = 0
            power[each.steps] = models.forecast(each.x)
        return Forecasts(power, meter.costs)

    def seconds(self, history: ZoneHistory) -> float:
        """Weights times samples times epochs."""
        weights = history.x.shape[1] * self.width + self.layers * self.width**2
        times = history.steps // self.every if self.learning != "frozen" else 0
        again = self.every if self.learning == "fine-tuned" else history.first + history.steps / 2
        samples = round(history.first + times * again)
        return (
            training_cost(weights, samples, self.training) * len(history.entities) / MULTIPLY_ADDS
        )


class _ModelStack:
    """One model per entity, in a stack."""

    def __init__(self, peer: PlainNetwork, history: ZoneHistory, meter: CostMeter) -> None:
        self._peer, self._meter, self._seed = peer, meter, history.seed
        self._network = Predictor(history.x.shape[1], peer.width, peer.layers)
        self._sample_bytes = history.sample_bytes
        self._params: list[Params] = []

    @property
    def is_trained(self) -> bool:
        return bool(self._params)

    def from_scratch(self, known: KnownSamples) -> None:
        """Train new models on all known samples."""
        seeds = [self._seed + column for column in range(known.y.shape[1])]
        self._params = [self._network.initialise([seed]) for seed in seeds]
        self._train(known, keep=self._peer.learning == "retrained")

    def fine_tune(self, new: KnownSamples) -> None:
        """Train the models on new samples only."""
        self._train(new, keep=True)

    def forecast(self, x: Float32Array) -> Power:
        """Forecasts, n x entities."""
        rows = torch.from_numpy(x)[None]
        with torch.inference_mode():
            outputs = [self._network.forward(each, rows)[0, :, 0] for each in self._params]
        return np.stack([output.numpy() for output in outputs], axis=1).astype(np.float64)

    def _train(self, samples: KnownSamples, *, keep: bool) -> None:
        sets = [(column, *samples.of(column)) for column in range(samples.y.shape[1])]
        sets = [(column, x, y) for column, x, y in sets if len(y) >= MIN_SAMPLES]
        with self._meter.measure_learning():
            trained = train([self._job(*each) for each in sets])
        for (column, _, y), result in zip(sets, trained, strict=True):
            self._params[column] = result.params
            self._meter.count_training(column)
            if keep:
                self._meter.count_bytes(column, len(y) * self._sample_bytes)

    def _job(self, column: int, x: Float32Array, y: Float32Array) -> Job:
        return Job(
            network=self._network,
            params=self._params[column],
            inputs=torch.from_numpy(x),
            targets=torch.from_numpy(y[:, None]),
            training=self._peer.training,
            seed=self._seed + column + 1000 * int(self._meter.trainings[column]),
        )
