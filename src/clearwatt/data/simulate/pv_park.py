"""A PV park: its layout, its own bit of sky, its growth, and how dirt and age wear it."""

from __future__ import annotations

import numpy as np

from clearwatt.data.simulate.drift import STEPS_PER_DAY, Changes
from clearwatt.data.simulate.panels import SOUTH, SOUTH_EAST, SOUTH_WEST, panel_output
from clearwatt.data.simulate.randomness import Floats, stream, wander
from clearwatt.data.simulate.world import World

DAYS_PER_YEAR = 365.0
WASHING_RAIN_MM = 0.5
LAYOUTS = {"south": SOUTH, "south-east": SOUTH_EAST, "south-west": SOUTH_WEST}


def park_layout(name: str, seed: int) -> str:
    """Return which of the ``LAYOUTS`` a park has."""
    return str(stream(seed, name, "design").choice(list(LAYOUTS)))


def pv_park(name: str, world: World, changes: Changes) -> Floats:
    """Return the output of a PV park (n), as a share of its capacity once fully built."""
    panels = LAYOUTS[park_layout(name, world.seed)]
    output = _passing_clouds(name, world) * panel_output(panels, world.sun, world.weather)
    added = 1.0 + changes.effect("capacity_added")
    built = added / (1.0 + changes.planned("capacity_added"))
    return output * built * _cleanliness(world, changes) * _youth(changes)


def _passing_clouds(name: str, world: World) -> Floats:
    # Broken clouds differ most from one site of the region to the next.
    cover = world.weather.cloud_cover_pct / 100.0
    passing = wander(stream(world.seed, name, "clouds"), cover.size, timescale=2.0)
    return np.clip(1.0 + (0.04 + 0.6 * cover * (1.0 - cover)) * passing, 0.2, 1.2)


def _cleanliness(world: World, changes: Changes) -> Floats:
    # Grime builds up over the year until the cleaning; loose dust until the next heavy rain.
    days = np.arange(changes.steps) / STEPS_PER_DAY
    washed = np.where(world.weather.precipitation_mm > WASHING_RAIN_MM, days, 0.0)
    dust = 1.0 - np.exp(-(days - np.maximum.accumulate(washed)) / 12.0)
    grime = (days % DAYS_PER_YEAR) / DAYS_PER_YEAR
    return np.clip(1.0 - changes.effect("soiling") * (0.6 * grime + 0.4 * dust), 0.0, 1.0)


def _youth(changes: Changes) -> Floats:
    age_years = np.arange(changes.steps) / (STEPS_PER_DAY * DAYS_PER_YEAR)
    return np.clip(1.0 - changes.effect("degradation") * age_years, 0.0, 1.0)
