"""A PV park: its layout, local clouds, growth, soiling and ageing."""

from __future__ import annotations

import numpy as np

from clearwatt.arrays import Float64Array
from clearwatt.data.simulate.drift import STEPS_PER_DAY, DriftEffects
from clearwatt.data.simulate.panels import SOUTH, SOUTH_EAST, SOUTH_WEST, panel_output
from clearwatt.data.simulate.randomness import random_stream, red_noise
from clearwatt.data.simulate.world import World

DAYS_PER_YEAR = 365.0
WASHING_RAIN_MM = 0.5
LAYOUTS = {"south": SOUTH, "south-east": SOUTH_EAST, "south-west": SOUTH_WEST}


def park_layout(name: str, seed: int) -> str:
    """The layout of a park, one of ``LAYOUTS``."""
    return str(random_stream(seed, name, "design").choice(list(LAYOUTS)))


def pv_park(name: str, world: World, changes: DriftEffects) -> Float64Array:
    """The output of a PV park (n), as a share of its final capacity."""
    panels = LAYOUTS[park_layout(name, world.seed)]
    output = _passing_clouds(name, world) * panel_output(panels, world.sun, world.weather)
    return output * changes.capacity_share() * _cleanliness(world, changes) * _age_factors(changes)


def _passing_clouds(name: str, world: World) -> Float64Array:
    # Broken cloud cover differs most between sites of the region.
    cover = world.weather.cloud_cover_pct / 100.0
    passing = red_noise(random_stream(world.seed, name, "clouds"), cover.size, timescale=2.0)
    return np.clip(1.0 + (0.04 + 0.6 * cover * (1.0 - cover)) * passing, 0.2, 1.2)


def _cleanliness(world: World, changes: DriftEffects) -> Float64Array:
    # Grime builds up until the yearly cleaning, loose dust until the next heavy rain.
    days = np.arange(changes.steps) / STEPS_PER_DAY
    washed = np.where(world.weather.precipitation_mm > WASHING_RAIN_MM, days, 0.0)
    dust = 1.0 - np.exp(-(days - np.maximum.accumulate(washed)) / 12.0)
    grime = (days % DAYS_PER_YEAR) / DAYS_PER_YEAR
    return np.clip(1.0 - changes.effect("soiling") * (0.6 * grime + 0.4 * dust), 0.0, 1.0)


def _age_factors(changes: DriftEffects) -> Float64Array:
    age_years = np.arange(changes.steps) / (STEPS_PER_DAY * DAYS_PER_YEAR)
    return np.clip(1.0 - changes.effect("degradation") * age_years, 0.0, 1.0)
