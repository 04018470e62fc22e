"""Trials of a prior on entities that it was not trained on: how far it errs, and what to trust."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from clearwatt.adaptive.ensemble import Architecture, Ensemble, NetworkVersion
from clearwatt.adaptive.forecaster import AdaptiveForecaster
from clearwatt.adaptive.frame import Frame
from clearwatt.adaptive.prior import FleetPrior, HeldOutErrors, KindPrior
from clearwatt.adaptive.prior_samples import KindSamples
from clearwatt.adaptive.prior_start import start_from_prior
from clearwatt.adaptive.settings import NoveltySettings
from clearwatt.arrays import Float64Array
from clearwatt.clock import HOURS_PER_DAY, Steps
from clearwatt.training.networks import Params
from clearwatt.training.streams import drive

TRIALS = 8
"""Entities that are forecast from their first day on to learn which experts to trust."""
TRIAL_DAYS = 30
DRAWS = 1_000
"""Samples of entities left out from which the errors of an hour of the day are found."""
FORECAST_GROUPS, ERROR_LEVELS = 4, 15
"""Groups of forecasts by their size, and quantiles of the errors in each, that a prior holds."""


class EntityErrors(NamedTuple):
    """Forecasts of an entity that was left out, as shares of capacity."""

    forecasts: Float64Array
    """Of the networks of the others, `n`."""
    measured: Float64Array
    """Measurements, `n`."""
    hour: Steps
    """Hour of the day, `n`."""


class TrustTrial(NamedTuple):
    """Errors of all experts over the first days of an entity that was left out."""

    products: Float64Array
    """Sums of products of errors, `k x k`, in deviations of the kind."""
    samples: float
    """Number of samples."""


def single_networks(frame: Frame) -> Architecture:
    """Shape of the networks of a trial: one of each group."""
    return replace(frame.architecture, settings=replace(frame.settings.networks, members=1))


def find_errors(
    shape: Architecture, params: Params, kind: KindSamples, entity: int
) -> EntityErrors:
    """Forecasts of an entity by networks that were not trained on it, without its past."""
    own = kind.entities[entity]
    ensemble = Ensemble(shape, (NetworkVersion("", 0, params, 0.0),))
    found = kind.power.undo(ensemble.mean_forecast(own.seen))[:, 0]
    return EntityErrors(np.clip(found, kind.low, kind.high), own.y, own.hour)


def try_start(
    frame: Frame,
    columns: Sequence[str],
    params: Params,
    kind: KindSamples,
    *,
    entity: int,
    rng: np.random.Generator,
) -> TrustTrial:
    """Start an entity from networks that were not trained on it, at a random day."""
    zone, clock = kind.zone_of(entity), frame.schedule.clock
    power = kind.power_of(entity)
    measured = np.flatnonzero(np.isfinite(power))
    latest = np.searchsorted(zone.at, zone.at[measured[-1]] - TRIAL_DAYS * clock.day)
    start = int(measured[rng.integers(max(1, int((measured <= latest).sum())))])
    end = int(np.searchsorted(zone.at, zone.at[start] + TRIAL_DAYS * clock.day))
    networks = single_networks(frame).settings
    settings = replace(
        frame.settings, networks=networks, novelty=NoveltySettings(capacity=None), memory=None
    )
    state = start_from_prior(
        FleetPrior(tuple(columns), frame.view, networks, settings.experts, {}),
        [0],
        [_trial_prior(kind, params, len(settings.experts))],
        [1.0],
        at=int(zone.at[start]),
        day=clock.day,
        delay=clock.delay,
        columns=columns,
        ranges={},
        settings=settings,
    )
    forecaster, rows = AdaptiveForecaster(state, rng), slice(start, end)
    x = zone.select(columns)[rows]
    drive(forecaster.learn(x, np.clip(power[rows, None], kind.low, kind.high), zone.at[rows]))
    trust = forecaster.state.trust
    return TrustTrial(trust.products[0], float(trust.samples[0]))


def mean_products(trials: Sequence[TrustTrial], experts: int) -> Float64Array:
    """Mean product of each two experts' errors over all trials, `k x k`."""
    samples = sum(trial.samples for trial in trials)
    if not samples:
        return np.zeros((experts, experts))
    total: Float64Array = np.sum([trial.products for trial in trials], axis=0)
    return total / samples


def spread_over_day(errors: Sequence[EntityErrors], rng: np.random.Generator) -> HeldOutErrors:
    """Quantiles of the errors by hour and size of the forecast, from all entities alike.

    No reading is held: a quantile is that of many samples of several entities.
    """
    hours = [_errors_of_hour(errors, hour, rng) for hour in range(HOURS_PER_DAY)]
    forecasts, measured = np.stack(hours, axis=1).reshape(-1, 2).T.copy()
    return HeldOutErrors(forecasts, measured)


def _errors_of_hour(
    errors: Sequence[EntityErrors], hour: int, rng: np.random.Generator
) -> Float64Array:
    """Forecasts and measurements that are as far apart as those of one hour of the day, `n x 2`."""
    drawn = []
    for entity, count in enumerate(rng.multinomial(DRAWS, [1 / len(errors)] * len(errors))):
        own = errors[entity]
        rows = np.flatnonzero(own.hour == hour)
        rows = rows if len(rows) else np.arange(len(own.hour))
        chosen = rng.choice(rows, size=count)
        drawn.append(np.stack([own.forecasts[chosen], own.measured[chosen]], axis=1))
    pairs = np.concatenate(drawn)
    levels = (np.arange(ERROR_LEVELS) + 0.5) / ERROR_LEVELS
    found = []
    for group in np.array_split(pairs[np.argsort(pairs[:, 0], kind="stable")], FORECAST_GROUPS):
        mean = np.full(ERROR_LEVELS, group[:, 0].mean())
        found.append(
            np.stack([mean, mean + np.quantile(group[:, 1] - group[:, 0], levels)], axis=1)
        )
    return rng.permutation(np.concatenate(found))


def _trial_prior(kind: KindSamples, params: Params, experts: int) -> KindPrior:
    """The networks of a trial as the prior of a kind; nothing is known of its errors."""
    return KindPrior(
        params=params,
        power=kind.power,
        low=kind.low,
        high=kind.high,
        error=1.0,
        held_out=HeldOutErrors(np.empty(0), np.empty(0)),
        trust=np.zeros((experts, experts)),
        entities=0,
        samples=0,
    )
