"""The weather: slow synoptic anomalies, and the variables derived from them and the sun.

The anomalies are autocorrelated and correlated with each other (high pressure is calm and clear).
``diagnose`` derives the thirteen variables from them, both for the real weather and, with perturbed
anomalies, for the forecast. So both are physically consistent.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from math import gamma

import numpy as np
from pvlib import irradiance

from clearwatt.arrays import Float64Array
from clearwatt.data.simulate.randomness import random_stream, red_noise, smooth
from clearwatt.data.simulate.site import SiteClock
from clearwatt.data.simulate.sun import Sun

WEIBULL_SHAPE = 2.1
MEAN_WIND_100M = 6.0
# The logistic function with this slope is the normal distribution to within 0.01.
LOGISTIC = 1.702


@dataclass(frozen=True, slots=True, eq=False)
class Anomalies:
    """Departures from the climate (n), each approximately standard normal."""

    pressure: Float64Array
    temperature: Float64Array
    wind: Float64Array
    cloud: Float64Array
    humidity: Float64Array
    shower: Float64Array

    def add(self, other: Anomalies) -> Anomalies:
        """The sum with other anomalies, field by field."""
        sums = {f.name: getattr(self, f.name) + getattr(other, f.name) for f in fields(self)}
        return replace(self, **sums)


@dataclass(frozen=True, slots=True, eq=False)
class Weather:
    """The thirteen weather variables (n each); field names carry the units."""

    temperature_2m_c: Float64Array
    dew_point_2m_c: Float64Array
    relative_humidity_2m_pct: Float64Array
    pressure_msl_hpa: Float64Array
    wind_speed_10m_ms: Float64Array
    wind_speed_100m_ms: Float64Array
    wind_gust_10m_ms: Float64Array
    cloud_cover_pct: Float64Array
    cloud_cover_low_pct: Float64Array
    ghi_wm2: Float64Array
    dni_wm2: Float64Array
    dhi_wm2: Float64Array
    precipitation_mm: Float64Array


def synoptic_anomalies(seed: int, hours: int) -> Anomalies:
    """The hourly anomalies that a weather model resolves (hours each)."""

    def process(name: str, timescale: float) -> Float64Array:
        return red_noise(random_stream(seed, "weather", name), hours, timescale=timescale)

    pressure = process("pressure", 70.0)
    return Anomalies(
        pressure=pressure,
        temperature=process("temperature", 90.0),
        wind=0.9 * process("wind", 26.0) - 0.45 * pressure,
        cloud=0.85 * process("cloud", 16.0) - 0.5 * pressure,
        humidity=process("humidity", 40.0),
        shower=process("shower", 4.0),
    )


def turbulence(seed: int, n: int, *, per_hour: int) -> Anomalies:
    """The anomalies below the resolution of a weather model (n each, ``per_hour`` an hour)."""

    def process(name: str, hours: float, strength: float) -> Float64Array:
        rng = random_stream(seed, "turbulence", name)
        return strength * red_noise(rng, n, timescale=hours * per_hour)

    return Anomalies(
        pressure=np.zeros(n),
        temperature=process("temperature", 3.0, 0.08),
        wind=process("wind", 1.0, 0.14),
        cloud=process("cloud", 1.5, 0.45),
        humidity=np.zeros(n),
        shower=process("shower", 1.0, 0.5),
    )


def refine(anomalies: Anomalies, *, per_hour: int, n: int, offset: int = 0) -> Anomalies:
    """Hourly anomalies interpolated to n samples, ``offset`` samples after the first."""
    at = (np.arange(n) + offset) / per_hour
    hours = np.arange(anomalies.pressure.size)
    fine = {f.name: np.interp(at, hours, getattr(anomalies, f.name)) for f in fields(anomalies)}
    return replace(anomalies, **fine)


def diagnose(anomalies: Anomalies, clock: SiteClock, sun: Sun, *, per_hour: int) -> Weather:
    """The weather (n) that follows from ``anomalies`` and ``sun``."""
    winter = clock.winter()
    cloud = _logistic(1.35 * (anomalies.cloud + 0.22 + 0.3 * winter))
    ghi, dni, dhi = _irradiance(cloud, sun)
    base, temperature = _temperature(anomalies, clock, ghi, per_hour=per_hour)
    spread = 2.2 + 4.0 * (1.0 - cloud) - 1.5 * anomalies.humidity
    dew_point = np.minimum(base - 1.0 - np.maximum(spread, 0.3), temperature - 0.1)
    wind_100m = wind_speed(anomalies.wind, mean=MEAN_WIND_100M * (1.0 + 0.14 * winter))
    wind_10m = wind_100m * 0.1 ** _shear(ghi, wind_100m)
    low = _logistic(1.35 * (anomalies.cloud - 0.2 + 0.25 * anomalies.humidity + 0.3 * winter))
    rain = np.maximum(anomalies.cloud + 0.4 * anomalies.shower - 1.0, 0.0)
    return Weather(
        temperature_2m_c=temperature,
        dew_point_2m_c=dew_point,
        relative_humidity_2m_pct=_relative_humidity(temperature, dew_point),
        pressure_msl_hpa=1015.5 + (7.0 + 2.0 * winter) * anomalies.pressure,
        wind_speed_10m_ms=wind_10m,
        wind_speed_100m_ms=wind_100m,
        wind_gust_10m_ms=wind_10m * (1.35 + 0.25 * ghi / 1000.0) + 0.7 * np.sqrt(wind_10m),
        cloud_cover_pct=100.0 * cloud,
        cloud_cover_low_pct=100.0 * np.minimum(low, cloud),
        ghi_wm2=ghi,
        dni_wm2=dni,
        dhi_wm2=dhi,
        precipitation_mm=0.8 * rain**1.5,
    )


def wind_speed(anomaly: Float64Array, *, mean: Float64Array | float) -> Float64Array:
    """Weibull-distributed wind speeds of the given mean, from a normal anomaly."""
    log_exceedance = -np.logaddexp(0.0, LOGISTIC * anomaly)
    scale = mean / gamma(1.0 + 1.0 / WEIBULL_SHAPE)
    return np.asarray(scale * (-log_exceedance) ** (1.0 / WEIBULL_SHAPE), dtype=np.float64)


def _logistic(anomaly: Float64Array) -> Float64Array:
    return np.asarray(1.0 / (1.0 + np.exp(-LOGISTIC * anomaly)), dtype=np.float64)


def _irradiance(cloud: Float64Array, sun: Sun) -> tuple[Float64Array, Float64Array, Float64Array]:
    # Kasten and Czeplak (1980), with a softer exponent for mixed layers.
    ghi = sun.clear_ghi * (1.0 - 0.76 * cloud**2.6)
    split = irradiance.erbs(ghi, sun.zenith, sun.day)
    dni = np.asarray(split["dni"], dtype=np.float64)
    dhi = np.asarray(split["dhi"], dtype=np.float64)
    return ghi, dni, dhi


def _temperature(
    anomalies: Anomalies, clock: SiteClock, ghi: Float64Array, *, per_hour: int
) -> tuple[Float64Array, Float64Array]:
    # Air temperature lags the sun by a month over the year and by three hours over the day.
    base = 8.2 - 6.8 * clock.winter(lag_days=32.0) + 3.7 * anomalies.temperature
    heated = smooth(smooth(ghi, 2.0 * per_hour), 2.0 * per_hour)
    return base, base + 13.0 * heated / 1000.0


def _relative_humidity(temperature: Float64Array, dew_point: Float64Array) -> Float64Array:
    def vapour(celsius: Float64Array) -> Float64Array:
        return np.exp(17.625 * celsius / (243.04 + celsius))

    return 100.0 * vapour(dew_point) / vapour(temperature)


def _shear(ghi: Float64Array, wind_100m: Float64Array) -> Float64Array:
    # Sunshine mixes the air; on calm clear nights the wind near the ground decouples.
    return 0.27 - 0.13 * np.tanh(ghi / 200.0) - 0.05 * np.tanh((wind_100m - 6.0) / 4.0)
