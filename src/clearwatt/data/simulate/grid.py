"""The simulated regional grid: a data set with the log of its drifts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType

import numpy as np
import pandas as pd

from clearwatt.arrays import Float32Array, Float64Array
from clearwatt.data.dataset import Dataset
from clearwatt.data.schema import Drift, Entity, Kind
from clearwatt.data.simulate.consumers import CONSUMERS, consumer_load
from clearwatt.data.simulate.dispatchable import biogas_plant, river_station
from clearwatt.data.simulate.drift import (
    DriftEffects,
    entity_changes,
    grid_changes,
    resolve_factors,
)
from clearwatt.data.simulate.entity_specs import EntitySpec, entity_specs
from clearwatt.data.simulate.gaps import missing_readings
from clearwatt.data.simulate.pv_park import park_layout, pv_park
from clearwatt.data.simulate.randomness import random_stream
from clearwatt.data.simulate.residual import SUBSTATIONS, residual_load
from clearwatt.data.simulate.site import Site
from clearwatt.data.simulate.weather import Weather
from clearwatt.data.simulate.wind import farm_turbine, wind_farm
from clearwatt.data.simulate.world import STEP, World, create_world
from clearwatt.errors import ConfigurationError

START = "2022-11-01"
MINIMUM_STEPS = 96
# Years that the holiday calendars cover.
YEARS = range(1990, 2101)
ZONE = "region"
PLANT_SIZES_KW = {
    "pv": (1500.0, 8000.0),
    "wind": (4600.0, 12200.0),
    "biogas": (500.0, 1200.0),
    "hydro": (150.0, 600.0),
}


def simulate_grid(
    entities: int = 95,
    steps: int = 67_764,
    seed: int = 0,
    *,
    start: str | pd.Timestamp = START,
    drifts: Mapping[str, float] | None = None,
) -> Dataset:
    """Simulate a regional grid with drift, shaped like the paper's.

    The same arguments give the same bytes. The entities of a smaller grid are also in a larger one.

    Args:
        entities: Number of entities; generators, consumers and residual loads are 7 : 59 : 29.
        steps: Number of quarter-hours.
        seed: Seed of everything random, at least 0.
        start: First instant, on a quarter-hour; UTC unless it carries an offset.
        drifts: Factor per drift: 0 switches it off, 1 is the default, a larger one strengthens
            it. Switching one off changes nothing else.

    Returns:
        The data set: power in kW per quarter-hour, day-ahead weather forecasts per hour, and the
        log of all drifts that are not switched off.

    Raises:
        ConfigurationError: If an argument is out of range.
    """
    _require_whole("entities", entities, least=1)
    _require_whole("steps", steps, least=MINIMUM_STEPS)
    _require_whole("seed", seed, least=0)
    first = _checked_start(start)
    _require_end(first, steps)
    factors = resolve_factors(drifts)
    shared = grid_changes(factors, steps=steps)
    world = create_world(first, steps, changes=shared, site=Site(), seed=seed)
    simulated = [_simulate(spec, world, factors) for spec in entity_specs(entities)]
    log = [*shared.log(world.clock.times), *(drift for each in simulated for drift in each.drifts)]
    power = {each.entity.name: each.power for each in simulated}
    return Dataset(
        name=f"simulated-{seed}",
        power=pd.DataFrame(power, index=world.clock.times),
        weather={ZONE: weather_frame(world.forecast, world.hours)},
        entities=tuple(each.entity for each in simulated),
        drifts=tuple(sorted(log, key=lambda drift: (drift.start, drift.what, drift.entity or ""))),
        about=_about_text(seed),
    )


def weather_frame(weather: Weather, hours: pd.DatetimeIndex) -> pd.DataFrame:
    """The weather as a float32 frame, one column per variable."""
    columns = {f.name: getattr(weather, f.name).astype(np.float32) for f in fields(weather)}
    return pd.DataFrame(columns, index=pd.DatetimeIndex(hours, name="time"))


@dataclass(frozen=True, slots=True, eq=False)
class _SimulatedEntity:
    """One entity with its power (n) and its drifts."""

    entity: Entity
    power: Float32Array
    drifts: list[Drift]


def _simulate(spec: EntitySpec, world: World, factors: Mapping[str, float]) -> _SimulatedEntity:
    steps, seed = len(world.clock.times), world.seed
    changes = entity_changes(spec, factors, steps=steps, seed=seed)
    capacity = _capacity(spec, seed)
    available = 1.0 - np.clip(changes.effect("outage"), 0.0, 1.0)
    metered = 1.0 - np.clip(changes.effect("meter_rescaled"), 0.0, 1.0)
    power = capacity * _output(spec, world, changes) * available * metered
    power[missing_readings(spec.name, steps, seed=seed)] = np.nan
    return _SimulatedEntity(
        Entity(spec.name, spec.kind, capacity, ZONE, _extra(spec, seed)),
        power.astype(np.float32),
        changes.log(world.clock.times),
    )


def _output(spec: EntitySpec, world: World, changes: DriftEffects) -> Float64Array:
    name, subtype = spec.name, spec.subtype
    if spec.kind is Kind.CONSUMER:
        return consumer_load(name, CONSUMERS[subtype], world, changes)
    if spec.kind is Kind.RESIDUAL:
        return residual_load(name, SUBSTATIONS[subtype], world, changes)
    if subtype == "pv":
        return pv_park(name, world, changes)
    if subtype == "wind":
        return wind_farm(name, world, changes)
    return biogas_plant(name, world) if subtype == "biogas" else river_station(name, world)


def _extra(spec: EntitySpec, seed: int) -> Mapping[str, str]:
    extra = {"subtype": spec.subtype, "unit": "kW"}
    if spec.subtype == "pv":
        extra["technology"] = f"fixed panels, {park_layout(spec.name, seed)}"
    elif spec.subtype == "wind":
        extra["technology"] = farm_turbine(spec.name, seed).kind
    return MappingProxyType(extra)


def _capacity(spec: EntitySpec, seed: int) -> float:
    if spec.kind is Kind.CONSUMER:
        low, high = CONSUMERS[spec.subtype].size_kw
    elif spec.kind is Kind.RESIDUAL:
        low, high = SUBSTATIONS[spec.subtype].size_kw
    else:
        low, high = PLANT_SIZES_KW[spec.subtype]
    drawn = np.exp(random_stream(seed, spec.name, "capacity").uniform(np.log(low), np.log(high)))
    return float(round(drawn / 5.0) * 5)


def _checked_start(start: str | pd.Timestamp) -> pd.Timestamp:
    first = pd.to_datetime(start, errors="coerce")
    if not isinstance(first, pd.Timestamp) or first.year not in YEARS:
        raise ConfigurationError(
            f"start {start!r} is not a time between {YEARS[0]} and {YEARS[-1]}; write e.g. {START}"
        )
    first = first.tz_localize("UTC") if first.tzinfo is None else first.tz_convert("UTC")
    if first != first.floor(STEP):
        raise ConfigurationError(
            f"start {start!r} does not lie on a quarter-hour; try {first.floor(STEP)}"
        )
    return first


def _require_end(first: pd.Timestamp, steps: int) -> None:
    most = int((pd.Timestamp(f"{YEARS[-1] + 1}-01-01", tz="UTC") - first) // STEP)
    if steps > most:
        raise ConfigurationError(
            f"steps is {steps}; from {first} at most {most} quarter-hours fit before the end of "
            f"{YEARS[-1]}"
        )


def _require_whole(name: str, value: object, *, least: int) -> None:
    if not isinstance(value, int | np.integer) or value < least:
        raise ConfigurationError(
            f"{name} is {value!r}; it must be a whole number of at least {least}"
        )


def _about_text(seed: int) -> str:
    return (
        f"Simulated regional grid, seed {seed}. Power in kW, mean over the quarter-hour that "
        "begins at its time. Weather: the 06 UTC run of the day before, valid at its hour. "
        "All data are synthetic."
    )
