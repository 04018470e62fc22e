"""Tasks of workers: the data they may learn from, and the networks they train."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Generic, Literal, TypeVar

import pandas as pd

from clearwatt.arrays import Float32Array
from clearwatt.clear.component import Model
from clearwatt.clear.warm_up import WarmUp
from clearwatt.clock import Clock
from clearwatt.data import Drift
from clearwatt.experiment.config import Experiment
from clearwatt.experiment.models import Place, TrainedNetwork, weight_count
from clearwatt.experiment.protocol import PhaseSamples, ZonePhases
from clearwatt.training.fleet import Training, one_thread, stack_of
from clearwatt.training.networks import Network, Reconstructor
from clearwatt.training.streams import Stream, drive, run_together

NetworkRole = Literal["plain", "variational", "everything"]
"""The autoencoder of a zone, its variational one, and that of Baseline_U."""
STEP_OVERHEAD = 8e6
"""Cost of a training step without its networks, in multiply-adds."""
R = TypeVar("R")


@dataclass(frozen=True, eq=False)
class Context:
    """Inputs of all tasks. The test phase is not among them, so no task can read it.

    ``times`` are the times of all steps, ``day`` is the number of steps per day, and ``limits`` are
    the lowest and the highest scaled power of each entity.
    """

    experiment: Experiment
    zones: tuple[ZonePhases, ...]
    times: pd.DatetimeIndex
    day: int
    drifts: tuple[Drift, ...] = ()
    kinds: Mapping[str, str] = field(default_factory=dict)
    limits: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    representations: Mapping[tuple[int, NetworkRole], TrainedNetwork] = field(default_factory=dict)
    predictors: Mapping[tuple[Place, NetworkRole], TrainedNetwork] = field(default_factory=dict)

    def span(self, zone: int, role: NetworkRole) -> PhaseSamples:
        """The samples that the models of a role are trained on."""
        own = self.zones[zone]
        return own.warmup.concatenate(own.updating) if role == "everything" else own.warmup

    @property
    def delay(self) -> int:
        """Steps until a measurement is known."""
        delay = self.experiment.delay
        return self.day if delay is None else delay

    @property
    def clock(self) -> Clock:
        """Steps per day, and delay of measurements."""
        return Clock(self.day, self.delay)

    def samples(self, zone: int, role: NetworkRole) -> int:
        """Number of samples that the models of a role are trained on."""
        own = self.zones[zone]
        return len(own.warmup.at) + (len(own.updating.at) if role == "everything" else 0)

    def training(self, role: NetworkRole) -> Training:
        """Training of the models of a role; the autoencoder of Baseline_U has its own."""
        return self.experiment.baseline if role == "everything" else self.experiment.warmup

    def warmup(self, role: NetworkRole) -> WarmUp:
        """Warm-up of the models of a role; a candidate that diverges does not stop the others."""
        return WarmUp(self.training(role), seed=self.experiment.seed, strict=False)

    def updating_times(self, zone: ZonePhases) -> pd.DatetimeIndex:
        """All times from the first sample of a zone's updating phase to the last."""
        at = zone.updating.at
        return self.times[at[0] : at[-1] + 1]

    def entity(self, place: Place) -> str:
        """The name of an entity."""
        return self.zones[place.zone].entities[place.column]


class Task(ABC, Generic[R]):
    """A task whose result depends on the context and on its own fields only."""

    @abstractmethod
    def run(self, context: Context) -> R:
        """Do the task."""

    @abstractmethod
    def cost(self, context: Context) -> float:
        """Approximate number of multiply-adds, to estimate the time it takes."""


def perform(context: Context, task: Task[R]) -> R:
    """Do a task on one thread; several would be slower and could round differently."""
    with one_thread():
        return task.run(context)


@dataclass(frozen=True)
class RepresentationTask(Task[list[TrainedNetwork]]):
    """Train autoencoders of one shape for several zones, stacked; their losses may differ."""

    role: NetworkRole
    networks: tuple[Reconstructor, ...]
    zones: tuple[int, ...]

    def run(self, context: Context) -> list[TrainedNetwork]:
        """One trained network per candidate and zone, in the order of `trials`."""
        streams = [
            self._train(context, network, context.span(zone, self.role).x)
            for network, zone in self.trials
        ]
        return [TrainedNetwork.of(model) for model in drive(run_together(streams))]

    def _train(self, context: Context, network: Reconstructor, x: Float32Array) -> Stream[Model]:
        warmup = context.warmup(self.role)
        if self.role != "everything":
            return warmup.autoencoder(network, x)
        upper = replace(warmup, training=context.experiment.baseline_autoencoder)
        return upper.finished_autoencoder(network, x)

    def cost(self, context: Context) -> float:
        """Cost of a stack of candidates."""
        counts = [context.samples(zone, self.role) for _, zone in self.trials]
        training = context.training(self.role)
        if self.role == "everything":
            training = context.experiment.baseline_autoencoder
        return stack_cost(weight_count(self.networks[0]), counts, training)

    @property
    def trials(self) -> list[tuple[Reconstructor, int]]:
        """Network and zone of each result."""
        return [(network, zone) for network in self.networks for zone in self.zones]


@dataclass(frozen=True)
class PredictorTask(Task[list[TrainedNetwork]]):
    """Train a predictor of one shape for each of several entities, stacked."""

    role: NetworkRole
    network: Network
    places: tuple[Place, ...]

    def run(self, context: Context) -> list[TrainedNetwork]:
        """One trained network per entity."""
        warmup = context.warmup(self.role)
        streams = []
        for zone, columns in columns_by_zone(self.places):
            span = context.span(zone, self.role)
            representation = context.representations[zone, self.role].model
            streams.append(
                warmup.predictors(self.network, representation, span.x, span.y[:, columns])
            )
        trained = drive(run_together(streams))
        return [TrainedNetwork.of(model) for models in trained for model in models]

    def cost(self, context: Context) -> float:
        """Cost of a stack of entities."""
        counts = [context.samples(place.zone, self.role) for place in self.places]
        return predictors_cost(weight_count(self.network), counts, context.training(self.role))


def columns_by_zone(places: Sequence[Place]) -> list[tuple[int, list[int]]]:
    """Zones with the columns of their entities; places are ordered by zone."""
    groups = groupby(places, key=lambda place: place.zone)
    return [(zone, [place.column for place in group]) for zone, group in groups]


def training_cost(weights: int, samples: int, training: Training) -> float:
    """Multiply-adds of a training that is not stopped early."""
    return 3.0 * weights * samples * training.epochs_for(weights)


def predictors_cost(weights: int, counts: Sequence[int], training: Training) -> float:
    """Multiply-adds of a stack of predictors, which early stopping usually ends half-way."""
    return stack_cost(weights, counts, training) * (1.0 if training.patience is None else 0.5)


def stack_cost(weights: int, counts: Sequence[int], training: Training) -> float:
    """Multiply-adds to train networks of one shape, on ``counts`` samples each."""
    together = min(len(counts), stack_of(weights))
    steps = sum(counts) / together / training.batch * training.epochs_for(weights)
    return training_cost(weights, sum(counts), training) + STEP_OVERHEAD * steps
