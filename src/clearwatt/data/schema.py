"""The parts of a data set: entities, their kinds, and known drifts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

import pandas as pd


class Kind(StrEnum):
    """The role of an entity in the grid."""

    GENERATOR = "generator"
    CONSUMER = "consumer"
    RESIDUAL = "residual"


@dataclass(frozen=True, slots=True)
class Entity:
    """One metered or estimated feeder of the grid.

    ``capacity`` is the rated capacity in the unit of the power column, ``None`` where unknown.
    """

    name: str
    kind: Kind
    capacity: float | None
    zone: str
    extra: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def subtype(self) -> str:
        """The technology or sort within the kind, in lower case; empty where unknown."""
        return (self.extra.get("subtype") or self.extra.get("technology") or "").strip().lower()


@dataclass(frozen=True, slots=True)
class Drift:
    """One known change of the grid, from the simulator's log.

    ``entity`` is ``None`` where the whole grid is affected, ``end`` where the change is permanent.
    """

    what: str
    entity: str | None
    start: pd.Timestamp
    end: pd.Timestamp | None
    strength: float
    description: str

    def to_dict(self) -> dict[str, str | float | None]:
        """The drift as plain values for JSON."""
        return {
            "what": self.what,
            "entity": self.entity,
            "start": self.start.isoformat(),
            "end": None if self.end is None else self.end.isoformat(),
            "strength": self.strength,
            "description": self.description,
        }
