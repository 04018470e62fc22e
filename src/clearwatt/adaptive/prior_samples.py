"""The samples of a fleet that a prior is trained on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from clearwatt.adaptive.frame import Frame
from clearwatt.adaptive.power_range import PowerRange
from clearwatt.adaptive.start import lag_inputs_at
from clearwatt.arrays import Float32Array, Float64Array
from clearwatt.clock import HOURS_PER_DAY, Steps
from clearwatt.data.inputs import is_neighbour
from clearwatt.errors import DataError
from clearwatt.training.standardisation import Standardisation

GAP_DAYS = 14
"""Days between the series of two zones, more than any lag or mean reaches back."""
EXTREME = 2e-4
"""Share of the readings of a kind, at either end, that are moved to the limits of its range."""

Place = tuple[int, int]
"""Number of a zone, and column of an entity in it."""


@dataclass(frozen=True, eq=False)
class ZoneSamples:
    """The samples of one zone of a fleet.

    Args:
        x: Inputs, `n x d`, finite.
        y: Power as a share of capacity, `n x e`; NaN where there is none.
        at: Step of each row, `n`, ascending.
        columns: Names of the inputs, `d`.
        kinds: Kinds that each entity belongs to, `e`, such as "generator" and "generator wind".
    """

    x: Float64Array
    y: Float64Array
    at: Steps
    columns: tuple[str, ...]
    kinds: tuple[tuple[str, ...], ...]

    def select(self, columns: Sequence[str]) -> Float64Array:
        """Some of the inputs, `n x d`."""
        return self.x[:, [self.columns.index(name) for name in columns]].astype(np.float64)


def common_columns(zones: Sequence[ZoneSamples]) -> tuple[str, ...]:
    """Inputs that all zones have, without the weather of neighbours."""
    if not zones:
        raise DataError("there are no samples to train a prior on; give at least one zone")
    common = set(zones[0].columns).intersection(*(zone.columns for zone in zones))
    return tuple(name for name in zones[0].columns if name in common and not is_neighbour(name))


def join_series(
    zones: Sequence[ZoneSamples], columns: Sequence[str], day: int
) -> tuple[Float64Array, Steps]:
    """Inputs of all zones as one series with gaps, `n x d`, and their steps, `n`."""
    steps, start = [], 0
    for zone in zones:
        steps.append(zone.at - zone.at[0] + start)
        start = int(steps[-1][-1]) + GAP_DAYS * day
    return np.concatenate([zone.select(columns) for zone in zones]), np.concatenate(steps)


def entities_by_kind(zones: Sequence[ZoneSamples]) -> dict[str, list[Place]]:
    """The entities of each kind that has at least two with measurements."""
    found: dict[str, list[Place]] = {}
    for number, zone in enumerate(zones):
        for column, kinds in enumerate(zone.kinds):
            if np.isfinite(zone.y[:, column]).any():
                for kind in kinds:
                    found.setdefault(kind, []).append((number, column))
    several = {kind: places for kind, places in found.items() if len(places) > 1}
    if not several:
        raise DataError(
            "no kind has two entities with measurements; a prior needs two, to see how far one "
            "differs from another"
        )
    return several


class EntitySamples(NamedTuple):
    """The measured samples of one entity."""

    seen: Float32Array
    """What networks see, `n x v`."""
    lagged: Float32Array
    """Past measurements, `n x l`."""
    y: Float64Array
    """Power as a share of capacity, `n`."""
    hour: Steps
    """Hour of the day, `n`."""


class KindSamples:
    """The samples of all entities of a kind; power is a share of capacity.

    Args:
        frame: What stays the same.
        zones: Of the fleet.
        seen: What networks see of each zone, `n x v`.
        places: The entities of the kind.
    """

    def __init__(
        self,
        frame: Frame,
        zones: Sequence[ZoneSamples],
        seen: Sequence[Float32Array],
        places: Sequence[Place],
    ) -> None:
        self.zones, self.places = zones, places
        shares = [self.power_of(place) for place in range(len(places))]
        pooled = np.concatenate([share[np.isfinite(share)] for share in shares])
        self.power = Standardisation.fit(pooled[:, None])
        low, high = np.quantile(pooled, [EXTREME, 1 - EXTREME]).tolist()
        self.low, self.high = float(low), float(high)
        self.entities = [
            self._samples(frame, zones[zone].at, seen[zone], share)
            for (zone, _), share in zip(places, shares, strict=True)
        ]

    def zone_of(self, entity: int) -> ZoneSamples:
        """The zone of an entity."""
        return self.zones[self.places[entity][0]]

    def power_of(self, entity: int) -> Float64Array:
        """Power of an entity in all rows of its zone, `n`; NaN where there is none."""
        zone, column = self.places[entity]
        return self.zones[zone].y[:, column].astype(np.float64)

    def _samples(
        self, frame: Frame, at: Steps, seen: Float32Array, share: Float64Array
    ) -> EntitySamples:
        limited = np.clip(share, self.low, self.high)[:, None]
        measured = self.power.apply(limited).astype(np.float64)
        lagged = lag_inputs_at(at, frame, at, measured, PowerRange.of(measured))
        known, day = np.isfinite(share), frame.schedule.clock.day
        hour = at % day * HOURS_PER_DAY // day
        return EntitySamples(seen[known], lagged[known, 0], limited[known, 0], hour[known])
