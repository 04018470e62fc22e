"""Updates of networks: the training jobs of a due entity, and the decision on the result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from clearwatt.adaptive.breaks import left_out, usable_since
from clearwatt.adaptive.ensemble import (
    FEW_SAMPLES,
    Architecture,
    Ensemble,
    NetworkVersion,
    blend_weights,
    stack_weights,
)
from clearwatt.adaptive.events import NetworkUpdate, Trigger
from clearwatt.adaptive.kernel_regression import KernelRegression
from clearwatt.adaptive.settings import MEMORY_DAYS, AdaptiveSettings
from clearwatt.arrays import BoolArray, Float32Array, Float64Array
from clearwatt.clear.gate import Comparison
from clearwatt.clear.promotion import AWAITING, DIVERGED
from clearwatt.clock import Steps
from clearwatt.training.fleet import Job, Trained
from clearwatt.training.networks import Params


@dataclass(frozen=True, eq=False)
class HeldSamples:
    """Everything held of the past: the reservoir, then the last days."""

    at: Steps
    """Steps, `n`."""
    seen: Float32Array
    """What the networks see, `n x v`."""
    lagged: Float32Array
    """Past measurements that some networks see, `n x e x l`."""
    y: Float32Array
    """Measurements, `n x e`, outliers limited; NaN where there is none."""
    novel: BoolArray
    """Whether a measurement was novel, `n x e`."""


class Backcast(NamedTuple):
    """Readings of one entity from before it joined, reconstructed from those of others."""

    y: Float32Array
    """Readings in the samples held, `n`, in deviations; NaN where none is reconstructed."""
    lagged: Float32Array
    """Past measurements of these that some networks see, `n x l`."""


@dataclass(frozen=True, eq=False)
class UpdateRequest:
    """An update of one entity that is due.

    Args:
        place: Column of the entity.
        deployed: Its networks in service.
        trigger: Why it is due.
        number: Of the version to be trained.
        boundary: Step at which it is due.
        since: Step of the update before.
        samples: Samples since then.
        novel: Novel ones among them.
        novel_inputs: Share of novel inputs since then.
        scale: Units of power per deviation.
    """

    place: int
    deployed: NetworkVersion
    trigger: Trigger
    number: int
    boundary: int
    since: int
    samples: int
    novel: int
    novel_inputs: float
    scale: float


class NetworkTraining:
    """An update in progress, from the request to the event with its result."""

    def __init__(
        self,
        request: UpdateRequest,
        held: HeldSamples,
        *,
        architecture: Architecture,
        settings: AdaptiveSettings,
        day: int,
        memory: int,
        seeds: Sequence[int],
        fresh: Params | None = None,
        backcast: Backcast | None = None,
    ) -> None:
        """Prepare the jobs.

        Args:
            request: What is due.
            held: Everything held of the past.
            architecture: Shape of the networks.
            settings: How they train.
            day: Steps per day.
            memory: Samples held at most.
            seeds: One per network.
            fresh: Weights of networks that have learned nothing yet; None: go on from those in
                service.
            backcast: Readings from before the entity joined; None: none are learned.
        """
        self.request, self.settings, self.architecture = request, settings, architecture
        self._full = min(memory, MEMORY_DAYS * day)
        breaks = request.deployed.breaks
        own = np.isfinite(held.y[:, request.place])
        y, lagged = _with_backcast(held, request.place, backcast)
        self._has_past = backcast is not None
        known = np.isfinite(y) & ~left_out(breaks, held.at, day)
        self._seen, self._y = held.seen[known], y[known]
        at, novel = held.at[known], held.novel[known, request.place]
        self._measured = own[known]
        self._span = request.boundary - int(at[self._measured].min(initial=request.boundary))
        new = (at >= request.since) & self._measured
        order = np.argsort(at, kind="stable")
        self._sides = [order[(new & novel)[order]], order[(new & ~novel)[order]]]
        used = np.ones(len(at), np.bool_)
        if settings.gate is not None:
            for side in self._sides:
                used[side[settings.gate.held_back_mask(len(side))]] = False
        self._at, self._used = at, used
        ages = (request.boundary - at[used]) / day
        # With nothing but a few days, networks are trained as in a warm-up.
        few = usable_since(breaks) > 0 and int(used.sum()) < FEW_SAMPLES
        self._anew = few or fresh is not None
        # So they are with a past that they have not learned before.
        as_warm_up = self._anew or request.trigger == "backcast"
        params = request.deployed.params if fresh is None else fresh
        self.jobs: list[Job] = architecture.jobs(
            params if as_warm_up else architecture.decay_weights(params),
            self._seen[used],
            lagged[known][used],
            self._y[used],
            ages=None if as_warm_up else ages,
            seeds=seeds,
        )

    def assess(
        self, trained: Sequence[Trained], *, approval: bool
    ) -> tuple[NetworkUpdate, NetworkVersion | None]:
        """The event of the update, and its new version; None if there is none to deploy."""
        request = self.request
        params = stack_weights(trained)
        if params is None:
            return self._event(trained, request.deployed, DIVERGED, None), None
        if self._share < 1:
            params = blend_weights(request.deployed.params, params, self._share)
        fresh = replace(
            request.deployed,
            number=request.number,
            params=params,
            fleet=False,
            from_fleet=self._is_new,
            kernel=None if self._is_new else self._fit_kernel(),
        )
        errors = self._errors(fresh, slice(None))
        version = replace(fresh, error=float(errors[self._measured].mean()))
        comparison = self._compare(errors)
        reason = None if comparison is None else comparison.refusal
        event = self._event(
            trained, version, reason or (AWAITING if approval else None), comparison, after=errors
        )
        return event, None if reason else version

    def _fit_kernel(self) -> KernelRegression | None:
        """The kernel regression of the samples that networks were trained on, if these are few."""
        used = self._used
        return self.architecture.fit_kernel(self._seen[used], self._y[used], self._at[used])

    @property
    def _share(self) -> float:
        """How far networks move towards the trained ones.

        Those of a fleet have learned from many entities and months, so a few days of the entity
        itself move them only a little. Days count, not samples: of an entity with missing readings,
        or one that joined when memory was full, fewer samples are held for ever.
        """
        return self._span / self._full if self._is_new and not self._has_past else 1.0

    @property
    def _is_new(self) -> bool:
        """Whether the networks come from a fleet and memory is not full of the entity's samples."""
        deployed = self.request.deployed
        begun = self._anew and not self._has_past
        return (deployed.fleet or deployed.from_fleet) and self._span < self._full and not begun

    def _compare(self, after: Float64Array) -> Comparison | None:
        gate = self.settings.gate
        if gate is None:
            return None
        novel, familiar = (after[side] for side in self._sides)
        return gate.compare(
            self._errors_before, (novel, familiar), usual=self.request.deployed.error
        )

    @cached_property
    def _errors_before(self) -> tuple[Float64Array, Float64Array]:
        """Errors of the networks in service since the last update: novel, familiar samples."""
        novel, familiar = (self._errors(self.request.deployed, side) for side in self._sides)
        return novel, familiar

    def _errors(
        self, version: NetworkVersion, rows: slice | np.ndarray[tuple[int], np.dtype[np.int64]]
    ) -> Float64Array:
        """Absolute errors of the networks' mean forecast, in deviations."""
        seen = self._seen[rows]
        if not len(seen):
            return np.empty(0)
        ensemble = Ensemble(self.architecture, (version,))
        forecast = ensemble.mean_forecast(seen, kernels=False)[:, 0]
        errors: Float64Array = np.abs(forecast - self._y[rows])
        return errors

    def _event(
        self,
        trained: Sequence[Trained],
        version: NetworkVersion,
        reason: str | None,
        comparison: Comparison | None,
        *,
        after: Float64Array | None = None,
    ) -> NetworkUpdate:
        request, alpha = self.request, self.settings.novelty.alpha
        before = [_mean(errors) for errors in self._errors_before]
        later = [None if after is None else _mean(after[side]) for side in self._sides]

        def scaled(error: float | None) -> float | None:
            return None if error is None else error * request.scale

        return NetworkUpdate(
            entity=request.deployed.entity,
            step=request.boundary,
            number=request.number,
            trigger=request.trigger,
            since=request.since,
            samples=request.samples,
            novel=request.novel,
            novel_inputs=request.novel_inputs,
            threshold_before=alpha * request.deployed.error * request.scale,
            threshold_after=alpha * version.error * request.scale,
            novel_error_before=scaled(before[0]),
            novel_error_after=scaled(later[0]),
            familiar_error_before=scaled(before[1]),
            familiar_error_after=scaled(later[1]),
            trained_on=len(self.jobs[0].inputs),
            epochs=trained[0].epochs,
            accepted=reason is None,
            reason=reason,
            held_back=None if comparison is None else comparison.in_unit(request.scale),
        )


def _with_backcast(
    held: HeldSamples, place: int, backcast: Backcast | None
) -> tuple[Float32Array, Float32Array]:
    """Readings of one entity, `n`, and those before them, `n x l`; back-cast if there is none."""
    y, lagged = held.y[:, place], held.lagged[:, place]
    if backcast is None:
        return y, lagged
    missing = np.isnan(y) & np.isfinite(backcast.y)
    return np.where(missing, backcast.y, y), np.where(missing[:, None], backcast.lagged, lagged)


def _mean(errors: Float64Array) -> float | None:
    return float(errors.mean()) if len(errors) else None
