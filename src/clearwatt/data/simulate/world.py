"""The common inputs of all entities: time, sun, and the weather, real and forecast."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from clearwatt.arrays import Float64Array
from clearwatt.data.simulate.drift import DriftEffects
from clearwatt.data.simulate.forecast import forecast_anomalies
from clearwatt.data.simulate.panels import ROOFS, panel_output
from clearwatt.data.simulate.profiles import closures, demand_profiles
from clearwatt.data.simulate.rules import NWP_CHANGE, SEASONS
from clearwatt.data.simulate.site import Site, SiteClock
from clearwatt.data.simulate.sun import Sun, sun_at
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
    """The common inputs: n power steps, and h hours that cover them plus one hour."""

    seed: int
    clock: SiteClock
    sun: Sun
    weather: Weather
    profiles: Mapping[str, Float64Array]
    closures: Float64Array
    rooftop: Float64Array
    hours: pd.DatetimeIndex
    forecast: Weather


def create_world(
    start: pd.Timestamp, steps: int, *, changes: DriftEffects, site: Site, seed: int
) -> World:
    """The common inputs of a grid over ``steps`` quarter-hours from ``start``."""
    seasons = float(changes.effect(SEASONS)[0])
    times = pd.date_range(start, periods=steps, freq=STEP, name="time")
    hours = pd.date_range(start.floor("h"), times[-1].ceil("h") + pd.Timedelta(hours=1), freq="h")
    clock = SiteClock(site, times, seasons)
    # A reading is the mean over its quarter-hour, so the sun is taken in the middle of it.
    sun = sun_at(SiteClock(site, times + STEP / 2, seasons))
    hour_clock = SiteClock(site, hours, seasons)
    hour_sun = sun_at(hour_clock)
    slow = synoptic_anomalies(seed, len(hours))
    change = np.interp(hours.asi8, times.asi8, changes.effect(NWP_CHANGE))
    predicted = forecast_anomalies(slow, hours, change=change, seed=seed)
    offset = int((start - hours[0]) // STEP)
    fine = refine(slow, per_hour=STEPS_PER_HOUR, n=steps, offset=offset)
    actual = fine.add(turbulence(seed, steps, per_hour=STEPS_PER_HOUR))
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
        forecast=diagnose(predicted, hour_clock, hour_sun, per_hour=1),
    )
