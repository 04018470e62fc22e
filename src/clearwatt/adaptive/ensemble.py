"""The networks of all entities: what they forecast, and the jobs that train them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Self

import numpy as np
import torch
from torch import Tensor

from clearwatt.adaptive.breaks import Breaks
from clearwatt.adaptive.kernel_regression import KernelRegression, share_of_kernel
from clearwatt.adaptive.network import DropoutPredictor
from clearwatt.adaptive.settings import NetworkSettings
from clearwatt.adaptive.stacked_networks import StackedNetworks
from clearwatt.adaptive.terms import PERSISTENCES
from clearwatt.arrays import Float32Array, Float64Array, Int64Array
from clearwatt.clock import Steps
from clearwatt.packing import ADDED
from clearwatt.training.fleet import Job, Trained, Training
from clearwatt.training.networks import Params, select, stack

FEW_SAMPLES = 1_500
"""Samples below which training takes more passes."""
FEW_ENTITIES = 16
"""Entities up to which stacked weights are kept: to stack these takes longer than to forecast."""
KEPT = 16
"""Ensembles whose stacked weights are kept. A process may hold thousands."""
MAX_MULTIPLIER = 6.0
"""Upper limit of the epoch multiplier; avoids over-fitting few samples."""


@dataclass(frozen=True, eq=False)
class NetworkVersion:
    """The networks of one entity as one update left them.

    Args:
        entity: Whose networks they are.
        number: Counts the updates of the entity; 0 is the warm-up.
        params: Weights of all its networks, `m x ...`.
        error: Mean absolute error on what was held when they were trained, in deviations.
        fleet: Whether they are those of a fleet prior, not trained on the entity itself yet.
        breaks: Changes of the entity that they take into account, oldest first.
        from_fleet: Whether they come from a fleet prior and memory was not full when they were
            trained.
        kernel: Takes the place of networks that know the time of year; None: there were enough
            samples for these.
    """

    entity: int | str
    number: int
    params: Params
    error: float
    fleet: bool = False
    breaks: Breaks = ()
    from_fleet: bool = field(default=False, metadata=ADDED)
    kernel: KernelRegression | None = field(default=None, metadata=ADDED)


@dataclass(frozen=True)
class Architecture:
    """Shape of the networks of an entity: `g` groups of equal size.

    Args:
        settings: Shape and training.
        inputs: Width `v` of what all networks see.
        season: Columns that tell the time of year, hidden from some groups.
        neighbours: Columns of the weather of neighbouring zones, hidden from some groups.
        hour: Steps per hour, at least 1. Batches have as many times the samples of hourly steps,
            so that training takes as many steps for as many days.
        distances: Weight of each column in distances of inputs, `v`; see `View.distances`.
        enough: Samples from which on there is no kernel regression.
    """

    settings: NetworkSettings
    inputs: int
    season: tuple[int, ...]
    neighbours: tuple[int, ...] = ()
    hour: int = 1
    distances: tuple[float, ...] = ()
    enough: int = 0

    @property
    def lags(self) -> int:
        """Number `l` of past measurements of the entity that some of its networks see."""
        return PERSISTENCES if any(group.lags for group in self.settings.groups) else 0

    @cached_property
    def without_lags(self) -> list[int]:
        """Groups that see no past measurements."""
        return [place for place, group in enumerate(self.settings.groups) if not group.lags]

    @cached_property
    def network(self) -> DropoutPredictor:
        """Shape of one network."""
        own = self.settings
        return DropoutPredictor(self.inputs + self.lags, own.width, own.layers, own.dropout)

    @property
    def size(self) -> int:
        """Networks per entity `m`."""
        return self.settings.members * len(self.settings.groups)

    @cached_property
    def shown(self) -> Float32Array:
        """1 for columns that a group sees, 0 for those hidden from it, `g x (v + l)`."""
        groups = self.settings.groups
        shown = np.ones((len(groups), self.inputs + self.lags), np.float32)
        shown[np.ix_([not group.season for group in groups], list(self.season))] = 0.0
        shown[np.ix_([not group.neighbours for group in groups], list(self.neighbours))] = 0.0
        shown[[not group.lags for group in groups], self.inputs :] = 0.0
        return shown

    @cached_property
    def _metric(self) -> tuple[Int64Array, Float32Array]:
        """Columns that count in distances, and the roots of their weights, `q`."""
        weights = np.array(self.distances, np.float64)
        columns = np.flatnonzero(weights)
        return columns, np.sqrt(weights[columns]).astype(np.float32)

    def kernel_inputs(self, seen: Float32Array) -> Float32Array:
        """What a kernel regression sees, `n x q`, of what all networks see, `n x v`."""
        columns, roots = self._metric
        return seen[:, columns] * roots

    def fit_kernel(self, seen: Float32Array, y: Float32Array, at: Steps) -> KernelRegression | None:
        """The kernel regression of measured samples, in any order; None if there are enough.

        Args:
            seen: What all networks see, `n x v`.
            y: Measurements, `n`.
            at: Steps, `n`.
        """
        seasons = any(group.season for group in self.settings.groups)
        if len(y) >= self.enough or not seasons or not any(self.distances):
            return None
        share = share_of_kernel(len(y), self.enough)
        order = np.argsort(at, kind="stable")
        return KernelRegression.fit(self.kernel_inputs(seen[order]), y[order], share=share)

    def views(self, seen: Float32Array, lagged: Float32Array) -> list[Tensor]:
        """What each group sees, `n x (v + l)`."""
        whole = np.concatenate([seen, lagged], axis=1)
        return [torch.from_numpy(whole * shown) for shown in self.shown]

    def jobs(
        self,
        params: Params,
        seen: Float32Array,
        lagged: Float32Array,
        y: Float32Array,
        *,
        ages: Float64Array | None,
        seeds: Sequence[int],
    ) -> list[Job]:
        """One job per network of an entity.

        Args:
            params: Weights to start from, `m x ...`.
            seen: What all networks see, `n x v`.
            lagged: Past measurements that some of them see, `n x l`.
            y: Measurements, `n`; NaN where there is none.
            ages: Days since each sample, `n`; None: the warm-up, in which all count alike.
            seeds: One per network.
        """
        known = np.isfinite(y)
        targets = torch.from_numpy(y[known, None])
        views = self.views(seen[known], lagged[known])
        own = self.settings
        training = own.warm_up if ages is None else own.update
        training = replace(training, batch=training.batch * self.hour)
        training = with_enough_epochs(training, len(targets))
        weights = [
            sample_weights(group.half_life, None if ages is None else ages[known])
            for group in own.groups
        ]
        return [
            Job(
                self.network,
                select(params, place),
                views[place // own.members],
                targets,
                training,
                seed=seed,
                weights=weights[place // own.members],
            )
            for place, seed in enumerate(seeds)
        ]

    def fits(self, params: Params) -> bool:
        """Whether weights have the shapes of an entity's networks."""
        return {name: tuple(tensor.shape) for name, tensor in params.items()} == self._shapes

    @cached_property
    def _shapes(self) -> dict[str, tuple[int, ...]]:
        blank = self.network.initialise(list(range(self.size)))
        return {name: tuple(tensor.shape) for name, tensor in blank.items()}

    def decay_weights(self, params: Params) -> Params:
        """Weights before an update, a share of each lost."""
        kept = 1 - self.settings.decay
        return {name: kept * tensor for name, tensor in params.items()}


@dataclass(frozen=True, eq=False)
class Ensemble:
    """The networks of `e` entities, one version each; forecasts are means of groups.

    Args:
        architecture: Shape of the networks of an entity.
        versions: Of each entity, `e`.
    """

    architecture: Architecture
    versions: tuple[NetworkVersion, ...]

    @property
    def breaks(self) -> tuple[Breaks, ...]:
        """Breaks of each entity, `e`."""
        return tuple(version.breaks for version in self.versions)

    def forecast(self, seen: Float32Array, lagged: Float32Array) -> Float64Array:
        """The groups' forecasts, `n x e x g`.

        Args:
            seen: What all networks see, `n x v`.
            lagged: Past measurements of each entity, `n x e x l`.
        """
        groups = self._group_means(self._stacked(), seen, lagged)
        return self._with_kernels(groups, seen, range(groups.shape[2]))

    def mean_forecast(self, seen: Float32Array, *, kernels: bool = True) -> Float64Array:
        """Mean forecast, `n x e`, of the networks that see no past measurements.

        Args:
            seen: What all networks see, `n x v`.
            kernels: Whether kernel regressions take their share in it.
        """
        own = self.architecture.without_lags
        none = np.empty((len(seen), len(self.versions), 0), np.float32)
        groups = self._group_means(self.stack_networks(own), seen, none)
        return mean_of_groups(self._with_kernels(groups, seen, own) if kernels else groups)

    def _with_kernels(
        self, groups: Float64Array, seen: Float32Array, numbers: Sequence[int]
    ) -> Float64Array:
        """Forecasts `n x e x g` of these groups, in which kernel regressions take their share."""
        found = [
            (i, each.kernel) for i, each in enumerate(self.versions) if each.kernel is not None
        ]
        if not found:
            return groups
        kinds = self.architecture.settings.groups
        seasons = [column for column, number in enumerate(numbers) if kinds[number].season]
        x, groups = self.architecture.kernel_inputs(seen), groups.copy()
        for place, kernel in found:
            forecast = kernel.forecast(x)
            for column in seasons:
                own = groups[:, place, column]
                own += kernel.share * (forecast - own)
        return groups

    def _group_means(
        self, networks: StackedNetworks, seen: Float32Array, lagged: Float32Array
    ) -> Float64Array:
        """Mean output of each group of networks, `n x e x g`."""
        output = networks.forward(seen, lagged.swapaxes(0, 1))
        members = self.architecture.settings.members
        shape = (len(self.versions), -1, members, len(seen))
        means: Float64Array = output.reshape(shape).sum(axis=2, dtype=np.float64) / members
        return means.transpose(2, 0, 1)

    def with_version(self, place: int, version: NetworkVersion) -> Self:
        """With another version of one entity."""
        versions = list(self.versions)
        versions[place] = version
        return replace(self, versions=tuple(versions))

    def _stacked(self) -> StackedNetworks:
        return _kept_stack(self) if len(self.versions) <= FEW_ENTITIES else self.stack_networks()

    def stack_networks(self, groups: Sequence[int] | None = None) -> StackedNetworks:
        """All networks, or those of some groups, as one stack."""
        shape, entities = self.architecture, len(self.versions)
        params = stack([version.params for version in self.versions])
        if groups is None:
            groups = range(len(shape.settings.groups))
        else:
            every = np.arange(entities * shape.size).reshape(entities, -1, shape.settings.members)
            rows = torch.from_numpy(every[:, list(groups)].reshape(-1))
            params = {name: tensor[rows] for name, tensor in params.items()}
        shown = np.repeat(shape.shown[list(groups)], shape.settings.members, axis=0)
        return StackedNetworks.of(
            shape.network, params, shown, inputs=shape.inputs, entities=entities
        )


@lru_cache(KEPT)
def _kept_stack(ensemble: Ensemble) -> StackedNetworks:
    return ensemble.stack_networks()


def mean_of_groups(groups: Float64Array) -> Float64Array:
    """Mean forecast, `n x e`, of groups, `n x e x g`."""
    mean: Float64Array = np.add.reduce(groups, axis=2) / groups.shape[2]
    return mean


def stack_weights(trained: Sequence[Trained]) -> Params | None:
    """Weights of an entity's networks after training, `m x ...`; None if one diverged."""
    if any(each.diverged for each in trained):
        return None
    return stack([each.params for each in trained])


def blend_weights(before: Params, after: Params, share: float) -> Params:
    """Weights between those before and after an update, `m x ...`: this share of the way."""
    return {name: before[name].lerp(tensor, share) for name, tensor in after.items()}


def with_enough_epochs(training: Training, samples: int) -> Training:
    """As many steps on few samples as on `FEW_SAMPLES`, up to a limit."""
    more = min(MAX_MULTIPLIER, max(1.0, FEW_SAMPLES / max(1, samples)))
    return replace(training, epochs=math.ceil(training.epochs * more))


def sample_weights(half_life: float | None, ages: Float64Array | None) -> Tensor | None:
    """Weight of each sample, 1 on average; None: all count alike."""
    if half_life is None or ages is None:
        return None
    weights = 0.5 ** (ages / half_life)
    return torch.from_numpy((weights / weights.mean()).astype(np.float32))
