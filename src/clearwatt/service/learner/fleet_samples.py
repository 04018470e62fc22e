"""The readings of a service as samples that fleet priors are trained on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np

from clearwatt.adaptive import ZoneSamples
from clearwatt.adaptive.prior_dataset import kinds_of
from clearwatt.arrays import Float64Array
from clearwatt.clock import SECONDS_PER_DAY
from clearwatt.data.inputs import (
    CALENDAR_COLUMNS,
    calendar,
    interpolate_weather,
    is_neighbour,
)
from clearwatt.service.learner.apply.weather import LatestWeather, instants
from clearwatt.service.quality import describe
from clearwatt.service.records import Flag, RegisteredEntity, Zone
from clearwatt.service.settings import ZoneSettings
from clearwatt.service.store import Store
from clearwatt.service.times import Times

LONGEST = 400 * SECONDS_PER_DAY
"""Seconds before the newest reading of a zone that are used."""
SHORTEST = 14 * SECONDS_PER_DAY
"""Least seconds from the first to the last reading of an entity that is used; it must have readings
and weather for half of them."""
MOST_ENTITIES = 60
"""Entities of a zone that are used; more would take memory and teach little."""
MOST_ZONES = 100
"""Zones of a group that are used, spread over all of them by id."""
MOST_IN_ALL = 2_000
"""Entities of a group that are used: with 400 days of quarter hours, less than a gigabyte."""
USED = (Flag.ACCEPTED, Flag.RELEASED, Flag.LATE)


ZoneMembers = tuple[Zone, tuple[RegisteredEntity, ...]]
"""A zone, and its entities that are used."""


class FleetGroup(NamedTuple):
    """Zones that can share a prior: with the same step and weather variables."""

    step: int
    zones: tuple[ZoneMembers, ...]

    @property
    def entities(self) -> int:
        """Number of entities."""
        return sum(len(members) for _, members in self.zones)

    @property
    def can_train(self) -> bool:
        """Whether a kind has two entities, which a prior needs."""
        kinds = [entity.kind for _, members in self.zones for entity in members]
        return any(kinds.count(kind) > 1 for kind in set(kinds))


def find_groups(store: Store) -> list[FleetGroup]:
    """Groups of zones that share their readings, with entities that have enough of them.

    Of large services a part is used: up to `MOST_ZONES` zones of a group, and `MOST_IN_ALL`
    entities.
    """
    found: dict[tuple[int, tuple[str, ...]], list[Zone]] = {}
    for zone in store.zones():
        found.setdefault((zone.step, tuple(sorted(_own_variables(zone)))), []).append(zone)
    groups = [(step, _find_members(store, zones)) for (step, _), zones in sorted(found.items())]
    return [FleetGroup(step, zones) for step, zones in groups if zones]


def _find_members(store: Store, zones: Sequence[Zone]) -> tuple[ZoneMembers, ...]:
    """Zones that share their readings, and their entities that are used."""
    sharing = (zone for zone in _spread(zones, MOST_ZONES) if _shares(store, zone))
    chosen = sorted(islice(sharing, MOST_ZONES), key=lambda zone: zone.id)
    most = min(MOST_ENTITIES, max(2, MOST_IN_ALL // max(1, len(chosen))))
    members = ((zone, tuple(islice(_with_enough(store, zone), most))) for zone in chosen)
    return tuple((zone, entities) for zone, entities in members if entities)


def _spread(zones: Sequence[Zone], most: int) -> Iterator[Zone]:
    """All zones, beginning with up to ``most`` of them at equal distances."""
    places = np.unique(np.linspace(0, len(zones) - 1, min(most, len(zones))).round().astype(int))
    others = np.setdiff1d(np.arange(len(zones)), places)
    return (zones[place] for place in (*places, *others))


def _shares(store: Store, zone: Zone) -> bool:
    """Whether a zone has learned something and lets others learn from it."""
    status = store.statuses([zone.id]).get(zone.id)
    if status is None:
        return False
    return ZoneSettings.read(dict(status.settings or zone.settings)).share_with_fleet


def read_samples(store: Store, group: FleetGroup) -> list[ZoneSamples]:
    """The samples of each zone of a group; zones without any are left out."""
    found = (_zone_samples(store, zone, members) for zone, members in group.zones)
    return [each for each in found if each is not None]


def _with_enough(store: Store, zone: Zone) -> Iterator[RegisteredEntity]:
    """Entities of a zone with enough readings."""
    for entity in store.entities(zone.id):
        span = store.span(entity.number)
        if span is not None and span[1] - span[0] >= SHORTEST:
            yield entity


def _own_variables(zone: Zone) -> list[str]:
    return [name for name in zone.variables if not is_neighbour(name)]


def _zone_samples(
    store: Store, zone: Zone, members: Sequence[RegisteredEntity]
) -> ZoneSamples | None:
    spans = [span for each in members if (span := store.span(each.number))]
    last = max(end for _, end in spans)
    first = max(min(start for start, _ in spans), last - LONGEST)
    times = np.arange(first // zone.step * zone.step, last + 1, zone.step, dtype=np.int64)
    x = _inputs(store, zone, times)
    power = np.stack([_power(store, each, times, zone.step) for each in members], axis=1)
    rows = np.flatnonzero(np.isfinite(x).all(axis=1))
    count = np.isfinite(power[rows]).sum(axis=0)
    enough = (count * zone.step >= SHORTEST / 2) & (np.nansum(np.abs(power[rows]), axis=0) > 0)
    kept = np.flatnonzero(enough).tolist()
    if not kept:
        return None
    return ZoneSamples(
        x[rows],
        power[rows][:, kept],
        times[rows] // zone.step,
        (*_own_variables(zone), *CALENDAR_COLUMNS),
        tuple(kinds_of(describe(members[column])) for column in kept),
    )


def _inputs(store: Store, zone: Zone, times: Times) -> Float64Array:
    """Weather in its own units and the calendar, n x d; NaN without weather."""
    weather = LatestWeather(zone.variables)
    for issue in store.weather(zone.id, start=int(times[0]), end=int(times[-1]) + 1):
        weather.add(issue)
    moments = instants(times)
    known = interpolate_weather(weather.frame()[_own_variables(zone)], moments)
    return np.hstack([known, calendar(moments, timezone=zone.timezone)]).astype(np.float64)


def _power(store: Store, entity: RegisteredEntity, times: Times, step: int) -> Float64Array:
    """Power as a share of capacity, or of the largest reading; NaN where there is none."""
    found = store.readings(entity.number, start=int(times[0]), end=int(times[-1]) + 1)
    good = np.isin(found.flags, USED) & np.isfinite(found.values)
    power: Float64Array = np.full(len(times), np.nan)
    power[(found.times[good] - times[0]) // step] = found.values[good]
    size = entity.capacity or float(np.abs(found.values[good]).max(initial=0.0))
    return power / size if size > 0 else power * np.nan
