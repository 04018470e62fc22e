"""The fleet of a data set, as a prior is trained on it."""

from __future__ import annotations

import numpy as np

from clearwatt.adaptive.prior import kind_name
from clearwatt.adaptive.prior_samples import ZoneSamples
from clearwatt.data.dataset import Dataset
from clearwatt.data.inputs import CALENDAR_COLUMNS, calendar, interpolate_weather
from clearwatt.data.neighbours import without_neighbours
from clearwatt.data.schema import Entity
from clearwatt.errors import DataError


def fleet_of(dataset: Dataset) -> list[ZoneSamples]:
    """The samples of each zone; weather is in its own units.

    Power is divided by the capacity of the entity, or by its largest reading where that is
    unknown. Entities that never measured anything but 0 are left out.
    """
    times = dataset.times
    hours = calendar(times, timezone=dataset.timezone)
    zones = []
    for zone, frame in without_neighbours(dataset).weather.items():
        members = [
            (entity, size)
            for entity in dataset.entities
            if entity.zone == zone and (size := entity_size(dataset, entity)) > 0
        ]
        x = np.concatenate([interpolate_weather(frame, times), hours], axis=1)
        rows = np.flatnonzero(np.isfinite(x).all(axis=1))
        if not members or not len(rows):
            continue
        power = dataset.power[[entity.name for entity, _ in members]].to_numpy(np.float64)
        zones.append(
            ZoneSamples(
                x[rows].astype(np.float64),
                power[rows] / [size for _, size in members],
                rows.astype(np.int64),
                (*map(str, frame.columns), *CALENDAR_COLUMNS),
                tuple(kinds_of(entity) for entity, _ in members),
            )
        )
    if not zones:
        raise DataError(f"data set {dataset.name!r} has no measurement with complete weather")
    return zones


def kinds_of(entity: Entity) -> tuple[str, ...]:
    """The kinds that an entity belongs to: its kind, and its kind and sort."""
    return tuple(dict.fromkeys((str(entity.kind), kind_name(entity.kind, entity.subtype))))


def entity_size(dataset: Dataset, entity: Entity) -> float:
    """Capacity of an entity, or its largest reading; 0 if there is none."""
    if entity.capacity is not None:
        return float(entity.capacity)
    return float(np.nanmax(dataset.power[entity.name].abs().to_numpy(np.float64), initial=0.0))
