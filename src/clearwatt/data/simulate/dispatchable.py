"""Plants that can be told when to run: a flexible biogas plant and a small river power station."""

from __future__ import annotations

import numpy as np

from clearwatt.data.simulate.drift import STEPS_PER_DAY
from clearwatt.data.simulate.randomness import Floats, smooth, stream, wander
from clearwatt.data.simulate.world import World


def biogas_plant(name: str, world: World) -> Floats:
    """Return the output (n) of a plant that follows the demand of the day, as a share of rated."""
    n, hour = world.clock.hour.size, world.clock.hour
    # The schedule of the day before: full power at the two peaks, less gas burnt at weekends.
    peaks = ((hour >= 6.5) & (hour < 10.5)) | ((hour >= 16.5) & (hour < 21.0))
    noon = (hour >= 11.0) & (hour < 15.5) & (world.clock.winter() < 0.3)
    planned = np.where(peaks, 0.93, np.where(noon, 0.42, 0.62))
    planned = planned - 0.12 * (world.clock.weekday >= 5)
    gas = wander(stream(world.seed, name, "gas"), n, timescale=10.0 * STEPS_PER_DAY)
    jitter = wander(stream(world.seed, name, "jitter"), n, timescale=2.0)
    # A governor keeps the engine near its set point, never at exactly the same power.
    return smooth(np.clip(planned * (1.0 + 0.06 * gas), 0.2, 0.97), 1.5) + 0.008 * jitter


def river_station(name: str, world: World) -> Floats:
    """Return the output (n) of a run-of-river station, as a share of its rated power."""
    rain = smooth(world.weather.precipitation_mm, 5.0 * STEPS_PER_DAY)
    groundwater = 0.44 + 0.14 * world.clock.winter(lag_days=45.0)
    jitter = wander(stream(world.seed, name, "jitter"), rain.size, timescale=6.0)
    return np.clip(groundwater + 1.6 * rain + 0.01 * jitter, 0.05, 0.985) + 0.002 * jitter
