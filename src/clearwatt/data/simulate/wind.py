"""Wind farms with windpowerlib: measured power curves at hub height, smoothed over the farm."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from windpowerlib import WindTurbine
from windpowerlib.power_curves import smooth_power_curve
from windpowerlib.power_output import power_curve

from clearwatt.arrays import Float64Array
from clearwatt.data.simulate.drift import DriftEffects
from clearwatt.data.simulate.randomness import random_stream, red_noise
from clearwatt.data.simulate.world import World

STANDARD_DENSITY = 1.225
GAS_CONSTANT = 287.05
# Availability and wakes of a farm of a few turbines.
FARM_EFFICIENCY = 0.93


@dataclass(frozen=True, slots=True)
class Turbine:
    """A turbine type of windpowerlib with a hub height in metres."""

    kind: str
    hub_height: float


TURBINES = (Turbine("E-82/2300", 108.0), Turbine("E-92/2350", 104.0), Turbine("E-101/3050", 99.0))


def farm_turbine(name: str, seed: int) -> Turbine:
    """The turbine type of a farm, one of ``TURBINES``."""
    return TURBINES[int(random_stream(seed, name, "design").integers(len(TURBINES)))]


def wind_farm(name: str, world: World, changes: DriftEffects) -> Float64Array:
    """The output of a wind farm (n), as a share of its initial capacity."""
    turbine = farm_turbine(name, world.seed)
    gusts = red_noise(random_stream(world.seed, name, "gusts"), changes.steps, timescale=3.0)
    speed = hub_wind(turbine, world) * (1.0 + 0.05 * gusts)
    output = FARM_EFFICIENCY * farm_output(turbine, speed)
    return output * changes.capacity_share()


def hub_wind(turbine: Turbine, world: World) -> Float64Array:
    """The wind speed at the hub (n) in m/s, corrected for air density (IEC 61400-12)."""
    weather = world.weather
    shear = np.log10(weather.wind_speed_100m_ms / weather.wind_speed_10m_ms)
    speed = weather.wind_speed_100m_ms * (turbine.hub_height / 100.0) ** shear
    pressure = 100.0 * weather.pressure_msl_hpa * np.exp(-(world.clock.site.altitude + 100) / 8400)
    density = pressure / (GAS_CONSTANT * (weather.temperature_2m_c + 273.15))
    return np.asarray(speed * np.cbrt(density / STANDARD_DENSITY), dtype=np.float64)


def farm_output(turbine: Turbine, speed: Float64Array) -> Float64Array:
    """The output (n) as a share of the rated power, at wind ``speed`` (n)."""
    machine = WindTurbine(turbine_type=turbine.kind, hub_height=turbine.hub_height)
    curve = smooth_power_curve(
        machine.power_curve["wind_speed"], machine.power_curve["value"], turbulence_intensity=0.12
    )
    watts = power_curve(speed, curve["wind_speed"].to_numpy(), curve["value"].to_numpy())
    return np.asarray(watts, dtype=np.float64) / float(machine.nominal_power)
