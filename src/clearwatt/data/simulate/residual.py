"""Residual loads: what a substation sees of all that is not metered behind it.

Households, trade and farms, minus rooftop PV, plus heat pumps and electric vehicles.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from clearwatt.data.simulate.consumers import electrified, headroom, size, tariff_shift
from clearwatt.data.simulate.drift import STEPS_PER_DAY, Changes
from clearwatt.data.simulate.electrification import electric_vehicles, heat_pumps
from clearwatt.data.simulate.profiles import mixed
from clearwatt.data.simulate.randomness import Floats, stream, wander
from clearwatt.data.simulate.world import World


@dataclass(frozen=True, slots=True)
class Substation:
    """What lies behind a substation, in shares of its capacity."""

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


def residual_load(name: str, station: Substation, world: World, changes: Changes) -> Floats:
    """Return the load of a substation (n), as a share of its capacity; negative: it feeds back."""
    rng = stream(world.seed, name, "design")
    rooftop = rng.uniform(*station.rooftop)
    people = mixed(station.mix, world.profiles)
    demand = (
        people * tariff_shift(world, changes)
        + station.heat_pumps * heat_pumps(world)
        + station.electric_vehicles * electric_vehicles(world)
    )
    net = 0.91 * demand * _unrest(name, world) - rooftop * world.rooftop
    return headroom(changes) * (net * size(changes) + electrified(world, changes))


def _unrest(name: str, world: World) -> Floats:
    n = world.closures.size
    days = wander(stream(world.seed, name, "days"), n, timescale=3.0 * STEPS_PER_DAY)
    minutes = wander(stream(world.seed, name, "minutes"), n, timescale=3.0)
    return np.exp(0.05 * days + 0.08 * minutes)
