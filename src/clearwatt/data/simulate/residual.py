"""Residual loads: the unmetered load behind a substation.

Households, trade and farms, minus rooftop PV, plus heat pumps and electric vehicles.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from clearwatt.arrays import Float64Array
from clearwatt.data.simulate.consumers import (
    electrification_load,
    headroom,
    load_noise,
    tariff_shift,
)
from clearwatt.data.simulate.drift import DriftEffects
from clearwatt.data.simulate.electrification import electric_vehicles, heat_pumps
from clearwatt.data.simulate.profiles import mix_profiles
from clearwatt.data.simulate.randomness import random_stream
from clearwatt.data.simulate.world import World


@dataclass(frozen=True, slots=True)
class Substation:
    """The composition of the load behind a substation, in shares of its capacity."""

    mix: Mapping[str, float]
    rooftop: tuple[float, float]
    heat_pumps: float
    electric_vehicles: float
    size_kw: tuple[float, float] = (1500.0, 8000.0)


SUBSTATIONS: Mapping[str, Substation] = {
    "residential": Substation(
        {"h0_dyn": 0.6, "g0": 0.2, "flat": 0.2},
        rooftop=(0.2, 0.4),
        heat_pumps=0.1,
        electric_vehicles=0.05,
    ),
    "mixed": Substation(
        {"h0_dyn": 0.4, "g0": 0.3, "g3": 0.3},
        rooftop=(0.12, 0.3),
        heat_pumps=0.06,
        electric_vehicles=0.04,
    ),
    "rural": Substation(
        {"h0_dyn": 0.37, "l0": 0.33, "flat": 0.27},
        rooftop=(0.3, 0.55),
        heat_pumps=0.08,
        electric_vehicles=0.03,
    ),
}


def residual_load(
    name: str, station: Substation, world: World, changes: DriftEffects
) -> Float64Array:
    """The load of a substation (n), as a share of its capacity; negative if it feeds back."""
    rng = random_stream(world.seed, name, "design")
    rooftop = rng.uniform(*station.rooftop)
    base = mix_profiles(station.mix, world.profiles)
    demand = (
        base * tariff_shift(world, changes)
        + station.heat_pumps * heat_pumps(world)
        + station.electric_vehicles * electric_vehicles(world)
    )
    net = 0.91 * demand * _fluctuations(name, world) - rooftop * world.rooftop
    return headroom(changes) * (
        net * changes.capacity_share() + electrification_load(world, changes)
    )


def _fluctuations(name: str, world: World) -> Float64Array:
    slow, fast = load_noise(name, world, fast_timescale=3.0)
    return np.exp(0.05 * slow + 0.08 * fast)
