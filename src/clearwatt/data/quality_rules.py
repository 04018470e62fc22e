"""The thresholds of the quality check, by kind of entity."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType

import pandas as pd

from clearwatt.data.schema import Entity, Kind
from clearwatt.errors import ConfigurationError


def _positive(name: str, value: float) -> None:
    if not (math.isfinite(value) and value > 0):
        raise ConfigurationError(f"{name} is {value}; give a positive number")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingLimits:
    """Plausible readings of one kind of entity; powers are shares of its rated capacity.

    Readings outside ``low`` to ``high`` are out of range. A value that stays the same for
    ``flat_hours`` is a flatline, unless it is below ``flat_above`` (the constant consumption of an
    idle plant) or within ``ceiling`` of the highest power of the last weeks (a plant at its limit).
    An excursion of at most ``spike_readings`` is a spike if it exceeds both ``spike_floor`` and
    ``spike_factor`` times the largest excursion of a typical day. Zero for ``zero_hours`` is
    suspicious while the neighbours run at ``neighbours`` or more on average.
    """

    low: float
    high: float
    flat_hours: float
    flat_above: float = 0.0
    ceiling: float | None = None
    spike_floor: float = 0.2
    spike_factor: float = 3.0
    zero_hours: float = 0.5
    neighbours: float = 0.02

    def __post_init__(self) -> None:
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high):
            raise ConfigurationError(f"range [{self.low}, {self.high}]: low must be below high")
        for name in ("flat_hours", "spike_floor", "spike_factor", "zero_hours", "neighbours"):
            _positive(name, getattr(self, name))
        if not 0 <= self.flat_above < 1:
            raise ConfigurationError(f"flat_above is {self.flat_above}; give 0 or more, below 1")
        if self.ceiling is not None and not 0 < self.ceiling < 1:
            raise ConfigurationError(f"ceiling is {self.ceiling}; give a share between 0 and 1")


GENERATOR = ReadingLimits(
    low=-0.1,
    high=1.15,
    flat_hours=2,
    flat_above=0.02,
    ceiling=0.08,
    spike_floor=0.35,
    neighbours=0.03,
)
# A plant with a schedule has the same power for hours, and its rated power for days.
DISPATCHABLE = dataclasses.replace(GENERATOR, flat_hours=12)
CONSUMER = ReadingLimits(low=-0.05, high=1.3, flat_hours=2)
RESIDUAL = ReadingLimits(low=-1.3, high=1.3, flat_hours=2)


def _by_kind() -> Mapping[Kind, ReadingLimits]:
    return MappingProxyType(
        {Kind.GENERATOR: GENERATOR, Kind.CONSUMER: CONSUMER, Kind.RESIDUAL: RESIDUAL}
    )


def _by_subtype() -> Mapping[str, ReadingLimits]:
    names = ("biogas", "biomass", "hydro", "chp", "gas", "coal", "nuclear", "dispatchable")
    return MappingProxyType(dict.fromkeys(names, DISPATCHABLE))


@dataclass(frozen=True, kw_only=True)
class QualityRules:
    """All thresholds of the quality check.

    ``kinds`` has the limits of every kind, ``subtypes`` those of subtypes, which take precedence.
    ``typical_days`` is the number of past days that define a typical day. Zero for longer than
    ``outage_hours`` is an outage to learn from, not a fault of the meter. ``fewest_readings`` is
    the least number of equal readings of a flatline, where readings are hours apart.
    """

    kinds: Mapping[Kind, ReadingLimits] = field(default_factory=_by_kind)
    subtypes: Mapping[str, ReadingLimits] = field(default_factory=_by_subtype)
    typical_days: int = 28
    spike_readings: int = 2
    fewest_readings: int = 6
    outage_hours: float = 72.0
    same: float = 1e-6
    zero: float = 1e-4

    def __post_init__(self) -> None:
        absent = [kind.value for kind in Kind if kind not in self.kinds]
        if absent:
            raise ConfigurationError(f"kinds lacks limits for {', '.join(absent)}; give all three")
        for item in fields(self)[2:]:
            _positive(item.name, getattr(self, item.name))
        for name in ("typical_days", "spike_readings", "fewest_readings"):
            if getattr(self, name) != int(getattr(self, name)):
                raise ConfigurationError(f"{name} is {getattr(self, name)}; give a whole number")

    def limits(self, entity: Entity) -> ReadingLimits:
        """The limits of an entity."""
        return self.subtypes.get(entity.subtype, self.kinds[entity.kind])

    @property
    def lookback(self) -> pd.Timedelta:
        """How much past a verdict needs to equal one from all of the past."""
        every = (*self.kinds.values(), *self.subtypes.values())
        flattest = max(limits.flat_hours for limits in every)
        longest = pd.Timedelta(hours=max(flattest, self.outage_hours))
        return longest + pd.Timedelta(days=self.typical_days + 1)

    def settles_after(self, entity: Entity, step: pd.Timedelta) -> pd.Timedelta:
        """The time after which the verdict on a reading is final.

        A spike is recognised when it ends, flatlines and stuck zeros at their n-th repetition;
        then all repetitions are flagged.
        """
        limits = self.limits(entity)
        hours = pd.Timedelta(hours=max(limits.flat_hours, limits.zero_hours))
        return max(hours, max(self.fewest_readings, self.spike_readings) * step)
