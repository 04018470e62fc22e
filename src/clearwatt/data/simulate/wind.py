"""Wind power by windpowerlib: measured power curves, smoothed over the farm, at hub height."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from windpowerlib import WindTurbine
from windpowerlib.power_curves import smooth_power_curve
from windpowerlib.power_output import power_curve

from clearwatt.data.simulate.drift import Changes
from clearwatt.data.simulate.randomness import Floats, stream, wander
from clearwatt.data.simulate.world import World

STANDARD_DENSITY = 1.225
GAS_CONSTANT = 287.05
# Availability and wakes of a farm of a few turbines.
FARM_EFFICIENCY = 0.93


@dataclass(frozen=True, slots=True)
class Turbine:
    """A type that windpowerlib knows, on a tower of ``hub_height`` metres."""

    kind: str
    hub_height: float


TURBINES = (Turbine("E-82/2300", 108.0), Turbine("E-92/2350", 104.0), Turbine("E-101/3050", 99.0))


def farm_turbine(name: str, seed: int) -> Turbine:
    """Return which of the ``TURBINES`` a farm has."""
    return TURBINES[int(stream(seed, name, "design").integers(len(TURBINES)))]


def wind_farm(name: str, world: World, changes: Changes) -> Floats:
    """Return the output of a wind farm (n), as a share of its first capacity."""
    turbine = farm_turbine(name, world.seed)
    gusts = wander(stream(world.seed, name, "gusts"), changes.steps, timescale=3.0)
    speed = hub_wind(turbine, world) * (1.0 + 0.05 * gusts)
    output = FARM_EFFICIENCY * farm_output(turbine, speed)
    return output * np.clip(1.0 - changes.effect("capacity_retired"), 0.0, 1.0)


def hub_wind(turbine: Turbine, world: World) -> Floats:
    """Return the wind at the hub (n), m/s, corrected for the density of the air (IEC 61400-12)."""
    weather = world.weather
    shear = np.log10(weather.wind_speed_100m_ms / weather.wind_speed_10m_ms)
    speed = weather.wind_speed_100m_ms * (turbine.hub_height / 100.0) ** shear
    pressure = 100.0 * weather.pressure_msl_hpa * np.exp(-(world.clock.site.altitude + 100) / 8400)
    density = pressure / (GAS_CONSTANT * (weather.temperature_2m_c + 273.15))
    return np.asarray(speed * np.cbrt(density / STANDARD_DENSITY), dtype=np.float64)


def farm_output(turbine: Turbine, speed: Floats) -> Floats:
    """Return the output (n) as a share of the rated power at wind ``speed`` (n)."""
    machine = WindTurbine(turbine_type=turbine.kind, hub_height=turbine.hub_height)
    curve = smooth_power_curve(
        machine.power_curve["wind_speed"], machine.power_curve["value"], turbulence_intensity=0.12
    )
    watts = power_curve(speed, curve["wind_speed"].to_numpy(), curve["value"].to_numpy())
    return np.asarray(watts, dtype=np.float64) / float(machine.nominal_power)
