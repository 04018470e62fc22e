"""What all entities share: the clock, the sun and the weather, as it happens and as forecast."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from clearwatt.data.simulate.clock import Clock, Site
from clearwatt.data.simulate.drift import Changes
from clearwatt.data.simulate.forecast import forecast_anomalies
from clearwatt.data.simulate.panels import ROOFS, panel_output
from clearwatt.data.simulate.profiles import closures, demand_profiles
from clearwatt.data.simulate.randomness import Floats
from clearwatt.data.simulate.rules import NWP_CHANGE, SEASONS
from clearwatt.data.simulate.sun import Sun, sun_over
from clearwatt.data.simulate.weather import (
    Weather,
    diagnose,
    refine,
    synoptic_anomalies,
    turbulence,
)

STEP = pd.Timedelta(minutes=15)
STEPS_PER_HOUR = 4


@dataclass(frozen=True, slots=True, eq=False)
class World:
    """Shared surroundings: n power steps, h hours that cover them and one hour more."""

    seed: int
    clock: Clock
    sun: Sun
    weather: Weather
    profiles: Mapping[str, Floats]
    closures: Floats
    rooftop: Floats
    hours: pd.DatetimeIndex
    forecast: Weather


def create_world(
    start: pd.Timestamp, steps: int, *, changes: Changes, site: Site, seed: int
) -> World:
    """Return the surroundings of a grid over ``steps`` quarter-hours from ``start``."""
    seasons = float(changes.effect(SEASONS)[0])
    times = pd.date_range(start, periods=steps, freq=STEP, name="time")
    hours = pd.date_range(start.floor("h"), times[-1].ceil("h") + pd.Timedelta(hours=1), freq="h")
    clock = Clock(site, times, seasons)
    # A reading is the mean over its quarter-hour: the sun stands as in the middle of it.
    sun = sun_over(Clock(site, times + STEP / 2, seasons))
    hour_clock = Clock(site, hours, seasons)
    hour_sun = sun_over(hour_clock)
    slow = synoptic_anomalies(seed, len(hours))
    change = np.interp(hours.asi8, times.asi8, changes.effect(NWP_CHANGE))
    foreseen = forecast_anomalies(slow, hours, change=change, seed=seed)
    offset = int((start - hours[0]) // STEP)
    fine = refine(slow, per_hour=STEPS_PER_HOUR, n=steps, offset=offset)
    actual = fine.shifted(turbulence(seed, steps, per_hour=STEPS_PER_HOUR))
    weather = diagnose(actual, clock, sun, per_hour=STEPS_PER_HOUR)
    return World(
        seed=seed,
        clock=clock,
        sun=sun,
        weather=weather,
        profiles=demand_profiles(clock, sun),
        closures=closures(clock),
        rooftop=panel_output(ROOFS, sun, weather),
        hours=hours,
        forecast=diagnose(foreseen, hour_clock, hour_sun, per_hour=1),
    )
