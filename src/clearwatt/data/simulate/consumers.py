"""Metered consumers: what each subtype's load is made of, and how drifts change it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from clearwatt.data.simulate.drift import STEPS_PER_DAY, Changes
from clearwatt.data.simulate.electrification import electric_vehicles, heat_pumps
from clearwatt.data.simulate.profiles import Mix, mixed
from clearwatt.data.simulate.randomness import Floats, smooth, stream, wander
from clearwatt.data.simulate.world import World


@dataclass(frozen=True, slots=True)
class Subtype:
    """What a kind of consumer's load is made of, in shares of its connected capacity.

    ``usual`` and ``changed`` are mixes of demand profiles before and after a change of behaviour;
    ``base`` never rests, ``heating`` and ``cooling`` follow the temperature, ``closing`` is the
    share that rests in company holidays.
    """

    usual: Mix
    changed: Mix
    base: float
    heating: float = 0.0
    cooling: float = 0.0
    closing: float = 0.0
    unrest: float = 0.095
    size_kw: tuple[float, float] = (50.0, 400.0)


CONSUMERS: Mapping[str, Subtype] = {
    "household_block": Subtype(
        {"h0_dyn": 1.0}, {"h0_dyn": 0.6, "g1": 0.4}, base=0.18, heating=0.1, size_kw=(60, 300)
    ),
    "office": Subtype(
        {"g1": 1.0}, {"g1": 0.55, "flat": 0.2}, base=0.3, heating=0.06, cooling=0.14, closing=0.5
    ),
    "supermarket": Subtype(
        {"g4": 0.6, "g0": 0.4}, {"g4": 0.5, "g2": 0.5}, base=0.28, cooling=0.22, size_kw=(80, 300)
    ),
    "shop": Subtype({"g4": 1.0}, {"g4": 0.4, "g0": 0.4}, base=0.15, heating=0.1, cooling=0.1),
    "workshop": Subtype(
        {"one_shift": 1.0}, {"two_shifts": 0.9}, base=0.4, heating=0.1, closing=0.8
    ),
    "factory_two_shift": Subtype(
        {"two_shifts": 1.0}, {"one_shift": 1.0}, base=0.27, closing=0.8, size_kw=(300, 2500)
    ),
    "factory_three_shift": Subtype(
        {"three_shifts": 1.0}, {"two_shifts": 1.0}, base=0.3, closing=0.7, size_kw=(500, 4000)
    ),
    "school": Subtype({"school": 1.0}, {"school": 0.8, "g2": 0.3}, base=0.26, heating=0.25),
    "cold_store": Subtype(
        {"flat": 0.6, "g3": 0.4}, {"g3": 1.0}, base=0.25, cooling=0.5, size_kw=(150, 900)
    ),
    "restaurant": Subtype({"g2": 0.5, "g6": 0.5}, {"g2": 0.3, "g6": 0.7}, base=0.15, heating=0.08),
    "hospital": Subtype(
        {"g3": 1.0}, {"g3": 0.6, "g1": 0.4}, base=0.35, cooling=0.15, size_kw=(400, 1500)
    ),
    "bakery": Subtype({"g5": 1.0}, {"g5": 0.5, "g4": 0.5}, base=0.15, cooling=0.08),
    "farm": Subtype({"l1": 1.0}, {"l2": 0.6, "flat": 0.3}, base=0.15, cooling=0.08),
    "waterworks": Subtype({"h0_dyn": 0.6, "flat": 0.4}, {"flat": 1.0}, base=0.2, cooling=0.15),
    "street_lighting": Subtype(
        {"street_lights": 1.0}, {"dimmed_lights": 1.0}, base=0.02, unrest=0.05
    ),
    "data_centre": Subtype(
        {"flat": 0.7, "g1": 0.3}, {"flat": 0.9}, base=0.3, cooling=0.3, unrest=0.03
    ),
}


def consumer_load(name: str, subtype: Subtype, world: World, changes: Changes) -> Floats:
    """Return the load of a consumer (n), as a share of its connected capacity."""
    rhythm = 1.0 - subtype.base - subtype.heating - subtype.cooling
    load = (
        subtype.base
        + rhythm * _activity(subtype, world, changes) * tariff_shift(world, changes)
        + subtype.heating * _cold(world)
        + subtype.cooling * _heat(world)
    )
    load = load * (1.0 - subtype.closing * world.closures) * _unrest(name, subtype, world)
    load = 0.9 * load * size(changes) + electrified(world, changes)
    return _managed(np.maximum(headroom(changes) * load, 0.0))


def tariff_shift(world: World, changes: Changes) -> Floats:
    """Return the factor (n) by which a time-of-use tariff changes the load of the hour."""
    hour = world.clock.hour
    expensive = np.exp(-0.5 * ((hour - 18.5) / 1.8) ** 2)
    noon = np.exp(-0.5 * ((hour - 13.0) / 1.6) ** 2)
    night = np.exp(-0.5 * (((hour - 1.5 + 12.0) % 24.0 - 12.0) / 2.0) ** 2)
    return 1.0 + changes.effect("tariff") * (0.4 * noon + 0.6 * night - expensive)


def size(changes: Changes) -> Floats:
    """Return the factor (n) of capacity added and retired; 1 once fully built."""
    added = 1.0 + changes.effect("capacity_added")
    built = added / (1.0 + changes.planned("capacity_added"))
    return built * np.clip(1.0 - changes.effect("capacity_retired"), 0.0, 1.0)


def headroom(changes: Changes) -> float:
    """Return the share of a connection in use before the growth it is built for."""
    adopted = changes.planned("heat_pumps") + changes.planned("electric_vehicles")
    return 1.0 / (1.0 + 0.5 * adopted + 0.4 * changes.planned("tariff"))


def electrified(world: World, changes: Changes) -> Floats:
    """Return what adopted heat pumps and electric vehicles add (n)."""
    heat = changes.effect("heat_pumps") * heat_pumps(world)
    return heat + changes.effect("electric_vehicles") * electric_vehicles(world)


def _activity(subtype: Subtype, world: World, changes: Changes) -> Floats:
    changed = np.clip(changes.effect("behaviour"), 0.0, 1.0)
    return (1.0 - changed) * mixed(subtype.usual, world.profiles) + changed * mixed(
        subtype.changed, world.profiles
    )


def _managed(load: Floats) -> Floats:
    # Peaks are what a connection is billed for: a good part of what exceeds it is held back.
    return load - 0.75 * np.maximum(load - 0.94, 0.0)


def _cold(world: World) -> Floats:
    return np.clip((15.0 - smooth(world.weather.temperature_2m_c, STEPS_PER_DAY / 2)) / 25, 0, 1.2)


def _heat(world: World) -> Floats:
    return np.clip((smooth(world.weather.temperature_2m_c, 8.0) - 8.0) / 22.0, 0.0, 1.2)


def _unrest(name: str, subtype: Subtype, world: World) -> Floats:
    n = world.closures.size
    days = wander(stream(world.seed, name, "days"), n, timescale=3.0 * STEPS_PER_DAY)
    minutes = wander(stream(world.seed, name, "minutes"), n, timescale=2.0)
    return np.exp(subtype.unrest * (0.6 * days + 0.8 * minutes))
