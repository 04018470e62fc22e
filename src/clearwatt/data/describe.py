"""Statistics of a data set: its entities, weather, quality and drifts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np
import numpy.typing as npt
import pandas as pd

from clearwatt.data.dataset import Dataset
from clearwatt.data.quality import EntityQuality, QualityReport, Reason, assess
from clearwatt.data.quality_rules import QualityRules
from clearwatt.data.schema import Drift, Entity, Kind
from clearwatt.data.statistics import (
    EntityStatistics,
    GroupStatistics,
    WeatherStatistics,
    spread_of,
)

_YEAR = pd.Timedelta(days=365)


@dataclass(frozen=True, eq=False)
class Description:
    """The statistics of a data set; ``annual``: the factors weight calendar months equally."""

    name: str
    start: pd.Timestamp
    end: pd.Timestamp
    step: pd.Timedelta
    weather_step: pd.Timedelta
    steps: int
    unit: str
    annual: bool
    entities: tuple[EntityStatistics, ...]
    weather: tuple[WeatherStatistics, ...]
    zones: tuple[str, ...]
    drifts: tuple[Drift, ...]
    report: QualityReport = field(repr=False)

    @property
    def groups(self) -> tuple[GroupStatistics, ...]:
        """Statistics per kind, each followed by its subtypes if there are any."""
        groups: list[GroupStatistics] = []
        for kind in Kind:
            members = tuple(item for item in self.entities if item.entity.kind is kind)
            names = tuple(dict.fromkeys(item.subtype for item in members))
            if members:
                groups.append(GroupStatistics(kind, None, members))
            if any(names):
                groups += [
                    GroupStatistics(kind, name, _of_subtype(members, name)) for name in names
                ]
        return tuple(groups)

    @property
    def longest_gap(self) -> EntityQuality:
        """The entity with the longest gap."""
        return max((item.quality for item in self.entities), key=lambda each: each.longest_gap)

    @property
    def missing_share(self) -> float:
        """The share of time steps, over all entities, without a reading."""
        return self.report.count(Reason.GAP) / self.report.codes.size

    def verdicts(self) -> Mapping[Reason, int]:
        """The number of readings with each verdict."""
        return MappingProxyType({reason: self.report.count(reason) for reason in Reason})

    def to_dict(self) -> dict[str, object]:
        """Plain values for JSON, including every entity and every drift."""
        return {
            "name": self.name,
            "start": self.start.isoformat(),
            "end": self.end.isoformat(),
            "step_minutes": self.step.total_seconds() / 60,
            "weather_step_minutes": self.weather_step.total_seconds() / 60,
            "steps": self.steps,
            "unit": self.unit or None,
            "factors_are_annual": self.annual,
            "groups": [group.to_dict() for group in self.groups],
            "gaps": {
                "missing_share": self.missing_share,
                "longest_hours": self.longest_gap.longest_gap / pd.Timedelta(hours=1),
                "longest_entity": self.longest_gap.entity,
            },
            "quality": {
                "flagged_share": self.report.flagged_share,
                "readings": {reason.name.lower(): n for reason, n in self.verdicts().items()},
            },
            "weather": [variable.to_dict() for variable in self.weather],
            "zones": list(self.zones),
            "drifts": [drift.to_dict() for drift in self.drifts],
            "entities": [entity.to_dict() for entity in self.entities],
        }


def describe(dataset: Dataset, *, rules: QualityRules | None = None) -> Description:
    """The statistics of a data set.

    Args:
        dataset: any data set.
        rules: thresholds of the quality check; the defaults if not given.
    """
    report = assess(dataset, rules)
    times = dataset.times
    annual = times[-1] - times[0] + dataset.step >= _YEAR
    # 23 months have eleven calendar months twice; averaging per month first weights them equally.
    months = times.month.to_numpy() if annual else np.ones(len(times), dtype=np.int32)
    power = dataset.power.to_numpy()
    measured = zip(dataset.entities, power.T, report.ok.T, report.summary, strict=True)
    return Description(
        name=dataset.name,
        start=times[0],
        end=times[-1],
        step=dataset.step,
        weather_step=min(_step(frame) for frame in dataset.weather.values()),
        steps=len(times),
        unit=_common_unit(dataset.entities),
        annual=bool(annual),
        entities=tuple(
            _entity_statistics(entity, values[ok], months=months[ok], quality=quality)
            for entity, values, ok, quality in measured
        ),
        weather=_weather_statistics(dataset.weather),
        zones=dataset.zones,
        drifts=dataset.drifts,
        report=report,
    )


def _entity_statistics(
    entity: Entity,
    values: npt.NDArray[np.float32],
    *,
    months: npt.NDArray[np.int32],
    quality: EntityQuality,
) -> EntityStatistics:
    mean, peak = None, None
    if len(values):
        counts = np.bincount(months)
        sums = np.bincount(months, weights=values)
        mean = float(np.mean(sums[counts > 0] / counts[counts > 0]))
        peak = float(np.abs(values).max())
    return EntityStatistics(
        entity=entity,
        subtype=entity.subtype,
        mean=mean,
        peak=peak,
        capacity_factor=_ratio(mean, entity.capacity),
        load_factor=_ratio(mean, peak),
        quality=quality,
    )


def _weather_statistics(weather: Mapping[str, pd.DataFrame]) -> tuple[WeatherStatistics, ...]:
    columns: dict[str, list[npt.NDArray[np.float32]]] = {}
    for frame in weather.values():
        for name in frame.columns:
            columns.setdefault(str(name), []).append(frame[name].to_numpy())
    return tuple(_variable(name, parts) for name, parts in columns.items())


def _variable(name: str, parts: list[npt.NDArray[np.float32]]) -> WeatherStatistics:
    values = np.concatenate(parts)
    known = values[np.isfinite(values)]
    low, mean, high = spread_of(known) or (None, None, None)
    missing = 1 - len(known) / len(values)
    return WeatherStatistics(name, len(parts), low, mean, high, missing_share=missing)


def _ratio(value: float | None, size: float | None) -> float | None:
    return value / size if value is not None and size else None


def _of_subtype(members: tuple[EntityStatistics, ...], name: str) -> tuple[EntityStatistics, ...]:
    return tuple(member for member in members if member.subtype == name)


def _step(frame: pd.DataFrame) -> pd.Timedelta:
    return pd.Timedelta(frame.index[1] - frame.index[0])


def _common_unit(entities: tuple[Entity, ...]) -> str:
    """The unit of power if all entities have the same, else empty."""
    units = {entity.extra.get("unit", "") for entity in entities}
    return units.pop() if len(units) == 1 else ""
