"""Plants with a schedule or a slow source: biogas and run-of-river hydro power."""

from __future__ import annotations

import numpy as np

from clearwatt.arrays import Float64Array
from clearwatt.data.simulate.drift import STEPS_PER_DAY
from clearwatt.data.simulate.randomness import random_stream, red_noise, smooth
from clearwatt.data.simulate.world import World


def biogas_plant(name: str, world: World) -> Float64Array:
    """The output (n) of a plant that follows daily demand, as a share of its rated power."""
    n, hour = world.clock.hour.size, world.clock.hour
    # The day-ahead schedule: full power at the two peaks, less at weekends.
    peaks = ((hour >= 6.5) & (hour < 10.5)) | ((hour >= 16.5) & (hour < 21.0))
    noon = (hour >= 11.0) & (hour < 15.5) & (world.clock.winter() < 0.3)
    schedule = np.where(peaks, 0.93, np.where(noon, 0.42, 0.62))
    schedule = schedule - 0.12 * (world.clock.weekday >= 5)
    gas = red_noise(random_stream(world.seed, name, "gas"), n, timescale=10.0 * STEPS_PER_DAY)
    jitter = red_noise(random_stream(world.seed, name, "jitter"), n, timescale=2.0)
    # The governor keeps the engine near its set point, never exactly at it.
    return smooth(np.clip(schedule * (1.0 + 0.06 * gas), 0.2, 0.97), 1.5) + 0.008 * jitter


def river_station(name: str, world: World) -> Float64Array:
    """The output (n) of a run-of-river station, as a share of its rated power."""
    rain = smooth(world.weather.precipitation_mm, 5.0 * STEPS_PER_DAY)
    groundwater = 0.44 + 0.14 * world.clock.winter(lag_days=45.0)
    jitter = red_noise(random_stream(world.seed, name, "jitter"), rain.size, timescale=6.0)
    return np.clip(groundwater + 1.6 * rain + 0.01 * jitter, 0.05, 0.985) + 0.002 * jitter
