"""The rules of plausible power for the entities of a service."""

from __future__ import annotations

import math
from typing import NamedTuple

from clearwatt.data.quality_rules import QualityRules
from clearwatt.data.schema import Entity, Kind
from clearwatt.service.records import RegisteredEntity

RULES = QualityRules()


class PlausiblePower(NamedTuple):
    """The lowest and the highest plausible power of an entity; infinite where it is unknown."""

    low: float = -math.inf
    high: float = math.inf


def describe(entity: RegisteredEntity) -> Entity:
    """An entity of the service as one of the data layer."""
    return Entity(entity.id, Kind(entity.kind), entity.capacity, entity.zone, entity.extra)


def plausible_power(entity: RegisteredEntity | Entity, size: float | None = None) -> PlausiblePower:
    """The plausible power of an entity by its kind and its capacity, or another size."""
    described = entity if isinstance(entity, Entity) else describe(entity)
    size = described.capacity if size is None else size
    limits = RULES.limits(described)
    return (
        PlausiblePower() if size is None else PlausiblePower(limits.low * size, limits.high * size)
    )
