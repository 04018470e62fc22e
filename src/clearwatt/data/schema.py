"""The validated data set: power per entity, weather per zone, one uniform UTC clock."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

import pandas as pd


class Kind(StrEnum):
    """What an entity is to the grid."""

    GENERATOR = "generator"
    CONSUMER = "consumer"
    RESIDUAL = "residual"


@dataclass(frozen=True, slots=True)
class Entity:
    """One metered (or estimated) feeder of the grid.

    ``capacity`` is the rated capacity in the unit of the power column, ``None`` where unknown.
    """

    name: str
    kind: Kind
    capacity: float | None
    zone: str
    extra: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class Drift:
    """One known change of the world, from the simulator's log.

    ``entity`` is ``None`` when the whole grid is affected, ``end`` when it never ends.
    """

    what: str
    entity: str | None
    start: pd.Timestamp
    end: pd.Timestamp | None
    strength: float
    description: str


@dataclass(frozen=True, eq=False)
class Dataset:
    """Power and weather of one grid.

    ``power``: float32, index ``time`` (UTC, uniform step), one column per entity, NaN = no reading.
    ``weather``: zone -> float32 frame, index ``time`` (UTC, uniform, possibly coarser), one column
    per variable.
    """

    name: str
    power: pd.DataFrame
    weather: Mapping[str, pd.DataFrame]
    entities: tuple[Entity, ...]
    drifts: tuple[Drift, ...] = ()
    about: str = ""
