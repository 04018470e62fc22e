"""The models of entities that start from a fleet prior."""

from __future__ import annotations

from datetime import timedelta
from typing import NamedTuple

import numpy as np

from clearwatt.adaptive import AdaptiveForecaster, FleetPrior
from clearwatt.adaptive.prior import KindPrior
from clearwatt.adaptive.prior_intervals import expected_errors
from clearwatt.adaptive.prior_start import join_from_prior, start_from_prior
from clearwatt.arrays import Float32Array, Float64Array
from clearwatt.clock import steps_per_day
from clearwatt.data.scaling import Scaling
from clearwatt.service.learner.apply.adaptive_models import NO_INPUTS, AdaptiveModels
from clearwatt.service.learner.apply.adaptive_progress import AdaptiveProgress, PendingRows
from clearwatt.service.learner.apply.intervals import ZoneIntervals
from clearwatt.service.records import Zone
from clearwatt.service.settings import ZoneSettings
from clearwatt.service.times import Times


class FleetStart(NamedTuple):
    """An entity that starts from a fleet prior; its power is scaled to its capacity."""

    name: str
    kind: KindPrior
    """What the fleet knows of its kind."""
    since: int
    """Time of the first row that it learns from."""
    limits: tuple[float, float]
    """Lowest and highest power, scaled."""
    scaling: Scaling
    """Of the zone, with the entity."""

    def ranges(self, zone: str) -> dict[str, tuple[float, float]]:
        """How the weather variables of the zone are scaled."""
        return {name: (each.low, each.span) for name, each in self.scaling.weather[zone].items()}


def start_models(
    zone: Zone,
    settings: ZoneSettings,
    prior: FleetPrior,
    start: FleetStart,
    intervals: ZoneIntervals,
) -> AdaptiveModels:
    """The models of a zone whose first entity has no history."""
    first = start.since // zone.step
    state = start_from_prior(
        prior,
        [start.name],
        [start.kind],
        [1.0],
        at=first,
        day=steps_per_day(timedelta(seconds=zone.step)),
        delay=max(1, settings.delay // zone.step),
        columns=start.scaling.columns(zone.id),
        ranges=start.ranges(zone.id),
        settings=settings.adaptive(),
    )
    forecaster = AdaptiveForecaster(state, np.random.default_rng(settings.seed))
    forecaster.require_approval(required=settings.approval)
    forecasts, measured, times = _fleet_errors(start, zone.step)
    intervals.begin(
        forecasts[:, None],
        measured[:, None],
        x=np.empty((len(times), NO_INPUTS), np.float32),
        times=times,
        limits=[start.limits],
    )
    progress = AdaptiveProgress(start.since, 0, first - 1, 0, 0, PendingRows.empty(1))
    return AdaptiveModels(forecaster, zone.step, progress)


def join_models(
    models: AdaptiveModels,
    zone: Zone,
    prior: FleetPrior,
    start: FleetStart,
    intervals: ZoneIntervals,
) -> None:
    """Add an entity without history to the models of a zone."""
    models.forecaster.state = join_from_prior(
        models.forecaster.state,
        prior,
        start.name,
        start.kind,
        1.0,
        columns=start.scaling.columns(zone.id),
        ranges=start.ranges(zone.id),
    )
    forecasts, measured, times = _fleet_errors(start, zone.step)
    intervals.join(forecasts, measured, times=times, limits=start.limits)
    models.note_joined(1)


def _fleet_errors(start: FleetStart, step: int) -> tuple[Float64Array, Float32Array, Times]:
    """Forecasts, measurements and times (n), as if of the days before the entity's first row."""
    day = steps_per_day(timedelta(seconds=step))
    forecasts, measured, steps = expected_errors(start.kind, 1.0, day=day)
    first = start.since // step // day * day
    before = first - (int(steps[-1]) // day + 1) * day
    return forecasts, measured.astype(np.float32), (steps + before) * step
