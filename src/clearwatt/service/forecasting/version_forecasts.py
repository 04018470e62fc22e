"""Forecasts of an entity by versions that need not be in service, to compare them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from clearwatt.adaptive import AdaptiveDeployed
from clearwatt.arrays import Float32Array, Float64Array
from clearwatt.clear.forecasting import forecasts
from clearwatt.clock import Steps
from clearwatt.data.scaling import Scaling
from clearwatt.errors import StateError
from clearwatt.service.forecasting.adaptive import AdaptiveForecasts
from clearwatt.service.forecasting.coverage import Inputs
from clearwatt.service.forecasting.deployed import DeployedZone
from clearwatt.service.forecasting.library import Library, LoadedModel, Versions
from clearwatt.service.times import Times

ScaledForecast = Callable[[Float32Array, Steps], Float64Array]
"""Scaled forecasts (n) for inputs (n x d) of steps (n)."""


@dataclass(frozen=True, slots=True, eq=False)
class VersionForecast:
    """Forecasts by chosen versions: times (n), values (n, unit of power; NaN without weather).

    ``weather`` (n x variables) is what they were made from, in its own units.
    """

    times: Times
    values: Float64Array
    weather: Float64Array


def reach_of(deployed: DeployedZone) -> int:
    """Number of steps before the first one whose inputs its forecast may depend on."""
    own = deployed.forecasts
    return own.deployed.frame.view.reach if isinstance(own, AdaptiveForecasts) else 0


def forecast_inputs(
    deployed: DeployedZone,
    library: Library,
    versions: Versions,
    *,
    entity: str,
    inputs: Inputs,
    step: int,
) -> Float64Array:
    """Scaled forecasts (n) of an entity for inputs (n x d); NaN where they are incomplete.

    An adaptive forecaster's steps up to the last one learned from are forecast by its networks
    alone: what the corrections were at that time is not kept.
    """
    forecast = (
        _adaptive(deployed.forecasts, library, versions, entity)
        if isinstance(deployed.forecasts, AdaptiveForecasts)
        else _clear(library, versions)
    )
    covered, values = inputs.complete, np.full(len(inputs.times), np.nan)
    if covered.any():
        values[covered] = forecast(inputs.x[covered], inputs.times[covered] // step)
    return values


def restore_weather(scaling: Scaling, zone: str, x: Float32Array) -> Float64Array:
    """Weather (n x variables) of inputs (n x d), in its own units."""
    extrema = scaling.weather[zone].values()
    low, span = np.array([e.low for e in extrema]), np.array([e.span for e in extrema])
    restored: Float64Array = low + span * x[:, : len(low)].astype(np.float64)
    return restored


def _clear(library: Library, versions: Versions) -> ScaledForecast:
    if versions.encoder is None:
        raise StateError(f"{versions.predictor} has no encoder to forecast with")
    encoder, predictor = (
        _exactly(library, each).model for each in (versions.encoder, versions.predictor)
    )
    return lambda x, _: forecasts([(encoder, predictor)], x)[:, 0]


def _exactly(library: Library, version: str) -> LoadedModel:
    found = library.find(version)
    if found.version != version:
        raise StateError(f"{version} is damaged; {found.version} is used instead")
    return found


def _adaptive(
    current: AdaptiveForecasts, library: Library, versions: Versions, entity: str
) -> ScaledForecast:
    found, networks = library.find_networks(versions.predictor)
    if found != versions.predictor:
        raise StateError(f"{versions.predictor} is damaged; {found} is used instead")
    names = [str(name) for name in current.deployed.names]
    own = current.deployed.select([names.index(entity)])
    if not own.frame.architecture.fits(networks.params):
        raise StateError(f"{found} was learned with other settings")
    deployed = own.with_version(0, networks)
    return lambda x, at: _adaptive_values(deployed, x, at)


def _adaptive_values(deployed: AdaptiveDeployed, x: Float32Array, at: Steps) -> Float64Array:
    values = deployed.networks(x, at, kernels=True)[:, 0]
    ahead = at > deployed.known
    if ahead.any():
        values[ahead] = deployed.forecast(x[ahead], at[ahead]).power[:, 0]
    return values
