"""New loads: heat pumps and electric vehicles."""

from __future__ import annotations

import numpy as np

from clearwatt.arrays import Float64Array
from clearwatt.data.simulate.drift import STEPS_PER_DAY
from clearwatt.data.simulate.randomness import smooth
from clearwatt.data.simulate.world import World

HEATING_LIMIT = 16.0
DESIGN_TEMPERATURE = -10.0


def heat_pumps(world: World) -> Float64Array:
    """The load of heat pumps (n), about 1 at the design temperature."""
    outside = world.weather.temperature_2m_c
    indoors = smooth(outside, 0.5 * STEPS_PER_DAY)
    demand = np.maximum(HEATING_LIMIT - indoors, 0.0) / (HEATING_LIMIT - DESIGN_TEMPERATURE)
    # A heat pump is less efficient in colder air.
    performance = np.clip(2.2 + 0.07 * (outside - DESIGN_TEMPERATURE), 1.8, 5.0) / 2.2
    hour = world.clock.hour
    comfort = np.where((hour >= 5.5) & (hour < 22.0), 1.0, 0.75)
    return comfort * demand / performance


def electric_vehicles(world: World) -> Float64Array:
    """The load of charging at home (n), about 1 in the evening of a working day."""
    hour = world.clock.hour
    evening = np.exp(-0.5 * ((hour - 19.0) / 2.0) ** 2)
    night = 0.35 * np.exp(-0.5 * (((hour - 23.5 + 12.0) % 24.0 - 12.0) / 2.0) ** 2)
    weekend = np.where(world.clock.weekday >= 5, 0.65, 1.0)
    noon = 0.25 * np.exp(-0.5 * ((hour - 13.0) / 3.0) ** 2)
    # Cold batteries and heated cabins need more energy.
    cold = 1.0 + 0.012 * np.maximum(15.0 - world.weather.temperature_2m_c, 0.0)
    return weekend * cold * (evening + night + noon) / 1.2
