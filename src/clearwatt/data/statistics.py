"""Records of the statistics of entities, groups of entities and weather variables."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from clearwatt.data.quality import EntityQuality, Reason
from clearwatt.data.schema import Entity, Kind


def spread_of(values: Iterable[float | None]) -> tuple[float, float, float] | None:
    """Least, mean and greatest of the values that are not ``None``; ``None`` without any."""
    known = np.array([value for value in values if value is not None], dtype=np.float64)
    return (float(known.min()), float(known.mean()), float(known.max())) if len(known) else None


@dataclass(frozen=True, slots=True)
class EntityStatistics:
    """One entity. Power statistics are over the readings that passed the quality check.

    ``mean`` and with it both factors are annual where the data span a year: every calendar month
    counts once. ``capacity_factor`` is mean power over rated capacity, ``load_factor`` mean power
    over the largest absolute power; ``None`` where the divisor is unknown or zero.
    """

    entity: Entity
    subtype: str
    mean: float | None
    peak: float | None
    capacity_factor: float | None
    load_factor: float | None
    quality: EntityQuality

    def to_dict(self) -> dict[str, object]:
        """Plain values for JSON."""
        return {
            "entity": self.entity.name,
            "kind": self.entity.kind.value,
            "subtype": self.subtype or None,
            "zone": self.entity.zone,
            "capacity": self.entity.capacity,
            "mean_power": self.mean,
            "peak_power": self.peak,
            "capacity_factor": self.capacity_factor,
            "load_factor": self.load_factor,
            "missing_share": self.quality.share(Reason.GAP),
            "longest_gap_hours": self.quality.longest_gap / pd.Timedelta(hours=1),
            "flagged_share": self.quality.flagged_share,
        }


@dataclass(frozen=True, slots=True)
class GroupStatistics:
    """Entities of one kind, or of one subtype within it (``subtype`` is ``None`` for all)."""

    kind: Kind
    subtype: str | None
    members: tuple[EntityStatistics, ...]

    @property
    def capacity(self) -> float | None:
        """The sum of the members' rated capacities; ``None`` if one is unknown."""
        sizes = [member.entity.capacity for member in self.members]
        known = [size for size in sizes if size is not None]
        return sum(known) if len(known) == len(sizes) else None

    @property
    def capacity_factors(self) -> tuple[float, float, float] | None:
        """Least, mean and greatest capacity factor of the members."""
        return spread_of(member.capacity_factor for member in self.members)

    @property
    def load_factors(self) -> tuple[float, float, float] | None:
        """Least, mean and greatest load factor of the members."""
        return spread_of(member.load_factor for member in self.members)

    @property
    def missing_share(self) -> float:
        """The share of time steps without a reading."""
        return float(np.mean([member.quality.share(Reason.GAP) for member in self.members]))

    @property
    def flagged_share(self) -> float:
        """The share of measured readings that did not pass the quality check."""
        return float(np.mean([member.quality.flagged_share for member in self.members]))

    def to_dict(self) -> dict[str, object]:
        """Plain values for JSON."""
        return {
            "kind": self.kind.value,
            "subtype": self.subtype,
            "entities": len(self.members),
            "capacity": self.capacity,
            "capacity_factor": _spread_values(self.capacity_factors),
            "load_factor": _spread_values(self.load_factors),
            "missing_share": self.missing_share,
            "flagged_share": self.flagged_share,
        }


@dataclass(frozen=True, slots=True)
class WeatherStatistics:
    """One weather variable over all zones that have it; ``None`` where it has no value at all."""

    variable: str
    zones: int
    low: float | None
    mean: float | None
    high: float | None
    missing_share: float

    def to_dict(self) -> dict[str, object]:
        """Plain values for JSON."""
        return {
            "variable": self.variable,
            "zones": self.zones,
            "min": self.low,
            "mean": self.mean,
            "max": self.high,
            "missing_share": self.missing_share,
        }


def _spread_values(spread: tuple[float, float, float] | None) -> dict[str, float] | None:
    return dict(zip(("min", "mean", "max"), spread, strict=True)) if spread else None
