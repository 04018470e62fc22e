"""Metered consumers: the composition of their load, and how drifts change it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from clearwatt.arrays import Float64Array
from clearwatt.data.simulate.drift import STEPS_PER_DAY, DriftEffects
from clearwatt.data.simulate.electrification import electric_vehicles, heat_pumps
from clearwatt.data.simulate.profiles import Mix, mix_profiles
from clearwatt.data.simulate.randomness import random_stream, red_noise, smooth
from clearwatt.data.simulate.world import World


@dataclass(frozen=True, slots=True)
class ConsumerType:
    """The composition of a consumer's load, in shares of its connected capacity.

    ``mix`` and ``new_mix`` are the demand profiles before and after a change of behaviour.
    ``base`` is constant, ``heating`` and ``cooling`` follow the temperature, ``closing`` is the
    share that is off in company holidays, ``noise`` the size of random fluctuations.
    """

    mix: Mix
    new_mix: Mix
    base: float
    heating: float = 0.0
    cooling: float = 0.0
    closing: float = 0.0
    noise: float = 0.095
    size_kw: tuple[float, float] = (50.0, 400.0)


CONSUMERS: Mapping[str, ConsumerType] = {
    "household_block": ConsumerType(
        {"h0_dyn": 1.0}, {"h0_dyn": 0.6, "g1": 0.4}, base=0.18, heating=0.1, size_kw=(60, 300)
    ),
    "office": ConsumerType(
        {"g1": 1.0}, {"g1": 0.55, "flat": 0.2}, base=0.3, heating=0.06, cooling=0.14, closing=0.5
    ),
    "supermarket": ConsumerType(
        {"g4": 0.6, "g0": 0.4}, {"g4": 0.5, "g2": 0.5}, base=0.28, cooling=0.22, size_kw=(80, 300)
    ),
    "shop": ConsumerType({"g4": 1.0}, {"g4": 0.4, "g0": 0.4}, base=0.15, heating=0.1, cooling=0.1),
    "workshop": ConsumerType(
        {"one_shift": 1.0}, {"two_shifts": 0.9}, base=0.4, heating=0.1, closing=0.8
    ),
    "factory_two_shift": ConsumerType(
        {"two_shifts": 1.0}, {"one_shift": 1.0}, base=0.27, closing=0.8, size_kw=(300, 2500)
    ),
    "factory_three_shift": ConsumerType(
        {"three_shifts": 1.0}, {"two_shifts": 1.0}, base=0.3, closing=0.7, size_kw=(500, 4000)
    ),
    "school": ConsumerType({"school": 1.0}, {"school": 0.8, "g2": 0.3}, base=0.26, heating=0.25),
    "cold_store": ConsumerType(
        {"flat": 0.6, "g3": 0.4}, {"g3": 1.0}, base=0.25, cooling=0.5, size_kw=(150, 900)
    ),
    "restaurant": ConsumerType(
        {"g2": 0.5, "g6": 0.5}, {"g2": 0.3, "g6": 0.7}, base=0.15, heating=0.08
    ),
    "hospital": ConsumerType(
        {"g3": 1.0}, {"g3": 0.6, "g1": 0.4}, base=0.35, cooling=0.15, size_kw=(400, 1500)
    ),
    "bakery": ConsumerType({"g5": 1.0}, {"g5": 0.5, "g4": 0.5}, base=0.15, cooling=0.08),
    "farm": ConsumerType({"l1": 1.0}, {"l2": 0.6, "flat": 0.3}, base=0.15, cooling=0.08),
    "waterworks": ConsumerType({"h0_dyn": 0.6, "flat": 0.4}, {"flat": 1.0}, base=0.2, cooling=0.15),
    "street_lighting": ConsumerType(
        {"street_lights": 1.0}, {"dimmed_lights": 1.0}, base=0.02, noise=0.05
    ),
    "data_centre": ConsumerType(
        {"flat": 0.7, "g1": 0.3}, {"flat": 0.9}, base=0.3, cooling=0.3, noise=0.03
    ),
}


def consumer_load(
    name: str, subtype: ConsumerType, world: World, changes: DriftEffects
) -> Float64Array:
    """The load of a consumer (n), as a share of its connected capacity."""
    rhythm = 1.0 - subtype.base - subtype.heating - subtype.cooling
    load = (
        subtype.base
        + rhythm * _activity(subtype, world, changes) * tariff_shift(world, changes)
        + subtype.heating * _heating_demand(world)
        + subtype.cooling * _cooling_demand(world)
    )
    load = load * (1.0 - subtype.closing * world.closures) * _fluctuations(name, subtype, world)
    load = 0.9 * load * changes.capacity_share() + electrification_load(world, changes)
    return _limit_peaks(np.maximum(headroom(changes) * load, 0.0))


def tariff_shift(world: World, changes: DriftEffects) -> Float64Array:
    """The factor (n) by which a time-of-use tariff changes the load."""
    hour = world.clock.hour
    expensive = np.exp(-0.5 * ((hour - 18.5) / 1.8) ** 2)
    noon = np.exp(-0.5 * ((hour - 13.0) / 1.6) ** 2)
    night = np.exp(-0.5 * (((hour - 1.5 + 12.0) % 24.0 - 12.0) / 2.0) ** 2)
    return 1.0 + changes.effect("tariff") * (0.4 * noon + 0.6 * night - expensive)


def headroom(changes: DriftEffects) -> float:
    """The share of a connection in use before the growth that it is designed for."""
    adopted = changes.nominal("heat_pumps") + changes.nominal("electric_vehicles")
    return 1.0 / (1.0 + 0.5 * adopted + 0.4 * changes.nominal("tariff"))


def electrification_load(world: World, changes: DriftEffects) -> Float64Array:
    """The additional load (n) of heat pumps and electric vehicles."""
    heat = changes.effect("heat_pumps") * heat_pumps(world)
    return heat + changes.effect("electric_vehicles") * electric_vehicles(world)


def _activity(subtype: ConsumerType, world: World, changes: DriftEffects) -> Float64Array:
    changed = np.clip(changes.effect("behaviour"), 0.0, 1.0)
    return (1.0 - changed) * mix_profiles(subtype.mix, world.profiles) + changed * mix_profiles(
        subtype.new_mix, world.profiles
    )


def _limit_peaks(load: Float64Array) -> Float64Array:
    # Connections are billed by their peak, so most of the load above 0.94 is avoided.
    return load - 0.75 * np.maximum(load - 0.94, 0.0)


def _heating_demand(world: World) -> Float64Array:
    return np.clip((15.0 - smooth(world.weather.temperature_2m_c, STEPS_PER_DAY / 2)) / 25, 0, 1.2)


def _cooling_demand(world: World) -> Float64Array:
    return np.clip((smooth(world.weather.temperature_2m_c, 8.0) - 8.0) / 22.0, 0.0, 1.2)


def _fluctuations(name: str, subtype: ConsumerType, world: World) -> Float64Array:
    slow, fast = load_noise(name, world, fast_timescale=2.0)
    return np.exp(subtype.noise * (0.6 * slow + 0.8 * fast))


def load_noise(
    name: str, world: World, *, fast_timescale: float
) -> tuple[Float64Array, Float64Array]:
    """Slow (days) and fast (``fast_timescale`` steps) random noise of a load (n each)."""
    n = world.closures.size
    slow = red_noise(random_stream(world.seed, name, "days"), n, timescale=3.0 * STEPS_PER_DAY)
    fast = red_noise(random_stream(world.seed, name, "minutes"), n, timescale=fast_timescale)
    return slow, fast
