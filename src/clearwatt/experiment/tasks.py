"""What a worker is given: the data it may learn from, and networks to train on them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Generic, Literal, TypeVar

import pandas as pd

from clearwatt.clear.warm_up import WarmUp
from clearwatt.clock import Clock
from clearwatt.data import Drift
from clearwatt.experiment.config import Experiment
from clearwatt.experiment.models import Place, TrainedNetwork, weight_count
from clearwatt.experiment.protocol import PhaseSamples, ZonePhases
from clearwatt.training.fleet import Training, one_thread, stack_of
from clearwatt.training.networks import Predictor, Reconstructor
from clearwatt.training.streams import drive, together

Role = Literal["plain", "variational", "everything"]
"""A zone's autoencoder, its variational one, and the one of Baseline_U that has seen it all."""
STEP = 8e6
"""Multiply-adds that could be done in the time a step takes however small its networks are."""
R = TypeVar("R")


@dataclass(frozen=True, eq=False)
class Context:
    """What all tasks share. The test phase is not in it, so no task can read it.

    ``times`` is the data set's clock, ``day`` is in steps of it. ``limits`` are the lowest and the
    highest scaled power of each entity.
    """

    experiment: Experiment
    zones: tuple[ZonePhases, ...]
    times: pd.DatetimeIndex
    day: int
    drifts: tuple[Drift, ...] = ()
    kinds: Mapping[str, str] = field(default_factory=dict)
    limits: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    representations: Mapping[tuple[int, Role], TrainedNetwork] = field(default_factory=dict)
    predictors: Mapping[tuple[Place, Role], TrainedNetwork] = field(default_factory=dict)

    def span(self, zone: int, role: Role) -> PhaseSamples:
        """The samples that a role's models are trained on."""
        own = self.zones[zone]
        return own.warmup.followed_by(own.updating) if role == "everything" else own.warmup

    @property
    def delay(self) -> int:
        """Steps until a measurement is known."""
        delay = self.experiment.delay
        return self.day if delay is None else delay

    @property
    def clock(self) -> Clock:
        """Steps per day, and delay of measurements."""
        return Clock(self.day, self.delay)

    def samples(self, zone: int, role: Role) -> int:
        """How many samples that is."""
        own = self.zones[zone]
        return len(own.warmup.at) + (len(own.updating.at) if role == "everything" else 0)

    def training(self, role: Role) -> Training:
        """How a role's models are trained."""
        return self.experiment.baseline if role == "everything" else self.experiment.warmup

    def warmup(self, role: Role) -> WarmUp:
        """The same with the seed; one that diverges must not lose the work of the others."""
        return WarmUp(self.training(role), seed=self.experiment.seed, strict=False)

    def updating_times(self, zone: ZonePhases) -> pd.DatetimeIndex:
        """The clock from a zone's first sample of the updating phase to its last."""
        at = zone.updating.at
        return self.times[at[0] : at[-1] + 1]

    def entity(self, place: Place) -> str:
        """The name of an entity."""
        return self.zones[place.zone].entities[place.column]


class Task(ABC, Generic[R]):
    """A piece of work whose result depends on the context and itself alone."""

    @abstractmethod
    def run(self, context: Context) -> R:
        """Do it."""

    @abstractmethod
    def cost(self, context: Context) -> float:
        """About how many multiply-adds it takes, to tell how long it will."""


def perform(context: Context, task: Task[R]) -> R:
    """Do a task on one thread: more would only cost, and might round differently."""
    with one_thread():
        return task.run(context)


@dataclass(frozen=True)
class RepresentationTask(Task[list[TrainedNetwork]]):
    """Train autoencoders of one shape, which may differ in their loss, for zones, stacked."""

    role: Role
    networks: tuple[Reconstructor, ...]
    zones: tuple[int, ...]

    def run(self, context: Context) -> list[TrainedNetwork]:
        """One trained network per candidate and zone, in the order of `trials`."""
        warmup = context.warmup(self.role)
        streams = [
            warmup.autoencoder(network, context.span(zone, self.role).x)
            for network, zone in self.trials
        ]
        return [TrainedNetwork.of(model) for model in drive(together(streams))]

    def cost(self, context: Context) -> float:
        """That of a stack of candidates."""
        counts = [context.samples(zone, self.role) for _, zone in self.trials]
        return stack_cost(weight_count(self.networks[0]), counts, context.training(self.role))

    @property
    def trials(self) -> list[tuple[Reconstructor, int]]:
        """Which network of which zone the results are."""
        return [(network, zone) for network in self.networks for zone in self.zones]


@dataclass(frozen=True)
class PredictorTask(Task[list[TrainedNetwork]]):
    """Train a predictor of one shape for each of several entities, stacked."""

    role: Role
    network: Predictor
    places: tuple[Place, ...]

    def run(self, context: Context) -> list[TrainedNetwork]:
        """One trained network per entity."""
        warmup = context.warmup(self.role)
        streams = []
        for zone, columns in by_zone(self.places):
            span = context.span(zone, self.role)
            representation = context.representations[zone, self.role].model
            streams.append(
                warmup.predictors(self.network, representation, span.x, span.y[:, columns])
            )
        trained = drive(together(streams))
        return [TrainedNetwork.of(model) for models in trained for model in models]

    def cost(self, context: Context) -> float:
        """That of a stack of entities."""
        counts = [context.samples(place.zone, self.role) for place in self.places]
        return predictors_cost(weight_count(self.network), counts, context.training(self.role))


def by_zone(places: Sequence[Place]) -> list[tuple[int, list[int]]]:
    """Zones with the columns of their entities; entities of a zone adjoin."""
    groups = groupby(places, key=lambda place: place.zone)
    return [(zone, [place.column for place in group]) for zone, group in groups]


def training_cost(weights: int, samples: int, training: Training) -> float:
    """Multiply-adds of a training that is not stopped early."""
    return 3.0 * weights * samples * training.epochs_for(weights)


def predictors_cost(weights: int, counts: Sequence[int], training: Training) -> float:
    """That of a stack of predictors, which early stopping usually ends half-way."""
    return stack_cost(weights, counts, training) * (1.0 if training.patience is None else 0.5)


def stack_cost(weights: int, counts: Sequence[int], training: Training) -> float:
    """What it takes to train networks of one shape on so many samples each, in multiply-adds."""
    together = min(len(counts), stack_of(weights))
    steps = sum(counts) / together / training.batch * training.epochs_for(weights)
    return training_cost(weights, sum(counts), training) + STEP * steps
