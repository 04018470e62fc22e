"""Arrays for learning: the inputs of every zone and the targets of every entity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import pandas as pd

from clearwatt.arrays import BoolArray, Float32Array
from clearwatt.data.dataset import Dataset
from clearwatt.data.inputs import CALENDAR_COLUMNS, calendar, interpolate_weather
from clearwatt.data.scaling import Extrema, Scaling, fit_scaling
from clearwatt.data.validation import name_list
from clearwatt.errors import DataError

__all__ = [
    "CALENDAR_COLUMNS",
    "Extrema",
    "FeatureSet",
    "Scaling",
    "calendar",
    "fit_scaling",
    "interpolate_weather",
    "prepare",
]


@dataclass(frozen=True, eq=False)
class FeatureSet:
    """Arrays for learning, over ``n`` common steps.

    ``inputs``: zone -> ``n x d``; ``columns``: zone -> names of the ``d`` inputs; ``usable``: zone
    -> ``n``, whether all inputs are present; ``targets``: ``n x entities``, NaN = not measured;
    ``zones``: the zone of each entity.
    """

    times: pd.DatetimeIndex
    entities: tuple[str, ...]
    zones: tuple[str, ...]
    inputs: Mapping[str, Float32Array]
    columns: Mapping[str, tuple[str, ...]]
    usable: Mapping[str, BoolArray]
    targets: Float32Array

    def samples(self, entity: str) -> tuple[pd.DatetimeIndex, Float32Array, Float32Array]:
        """The times (n), inputs (n x d) and targets (n) of an entity's complete samples."""
        if entity not in self.entities:
            raise DataError(f"no entity {entity!r}; there are {name_list(self.entities)}")
        at = self.entities.index(entity)
        zone, target = self.zones[at], self.targets[:, at]
        rows = self.usable[zone] & np.isfinite(target)
        return self.times[rows], self.inputs[zone][rows], target[rows]


def prepare(
    dataset: Dataset, scaling: Scaling, *, entities: Sequence[str] | None = None
) -> FeatureSet:
    """The inputs per zone and targets per entity of a data set.

    Args:
        dataset: the data set or any slice of it.
        scaling: fitted on the warm-up of the same grid.
        entities: which entities, in which order; all by default.
    """
    by_name = {entity.name: entity for entity in dataset.entities}
    names = tuple(by_name) if entities is None else tuple(entities)
    unknown = [name for name in names if name not in by_name]
    if unknown or not names:
        wanted = name_list(unknown) if unknown else "at least one entity"
        raise DataError(f"{wanted} wanted, but data set {dataset.name!r} has {name_list(by_name)}")
    times = pd.DatetimeIndex(dataset.power.index)
    zones = tuple(by_name[name].zone for name in names)
    inputs = {
        zone: scaling.inputs(zone, dataset.weather[zone], times) for zone in dict.fromkeys(zones)
    }
    return FeatureSet(
        times=times,
        entities=names,
        zones=zones,
        inputs=MappingProxyType(inputs),
        columns=MappingProxyType({zone: scaling.columns(zone) for zone in inputs}),
        usable=MappingProxyType({zone: _complete(x) for zone, x in inputs.items()}),
        targets=scaling.scale_power(dataset.power[list(names)].to_numpy(), names),
    )


def _complete(inputs: Float32Array) -> BoolArray:
    return np.asarray(np.isfinite(inputs).all(axis=1), dtype=np.bool_)
