"""What a zone forecasts with, and its quantiles: immutable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple, Protocol

import numpy as np

from clearwatt.arrays import Float32Array, Float64Array
from clearwatt.clock import Steps
from clearwatt.data.scaling import Scaling
from clearwatt.intervals import QuantileSnapshot
from clearwatt.service.forecasting.library import Versions
from clearwatt.service.records import IntervalSnapshot, RegisteredEntity


class ScaledForecasts(NamedTuple):
    """Scaled forecasts of `k` entities for `n` steps."""

    power: Float64Array
    """Forecasts with everything that is known, k x n."""
    day_ahead: Float64Array
    """Forecasts without what has just been measured, k x n: quantiles are calibrated for them."""
    spread: Float64Array
    """Usual error as a share of that of ``day_ahead``, k x n."""

    @classmethod
    def of(cls, power: Float64Array) -> ScaledForecasts:
        """Forecasts that are the same whatever has just been measured."""
        return cls(power, power, np.ones_like(power))


class ZoneForecasts(Protocol):
    """What makes the forecasts of a zone, for any kind of forecaster."""

    @property
    def reasons(self) -> Mapping[str, str]:
        """Why an entity has no forecast."""

    def versions(self, entity: str) -> Versions | None:
        """The versions that forecast an entity; None if none do."""

    def lead_in(self, step: int) -> int:
        """Number of steps before this one whose inputs its forecast depends on."""

    def measured_until(self, entity: str) -> int | None:
        """Step of the newest measurement that an entity's forecast uses; None: none."""

    def forecast(self, x: Float32Array, steps: Steps, entities: Sequence[str]) -> ScaledForecasts:
        """Scaled forecasts of entities that have versions, for inputs (n x d)."""


@dataclass(frozen=True, slots=True, eq=False)
class ZoneQuantiles:
    """The quantiles of a zone at one revision; ``columns`` maps entity numbers to columns."""

    revision: int
    snapshot: QuantileSnapshot
    columns: Mapping[int, int]

    @classmethod
    def of(cls, stored: IntervalSnapshot) -> ZoneQuantiles:
        """Unpack stored quantiles; StateError if they are damaged."""
        columns = {number: column for column, number in enumerate(stored.entities)}
        return cls(
            stored.revision, QuantileSnapshot.unpack(stored.content), MappingProxyType(columns)
        )


@dataclass(frozen=True, slots=True, eq=False)
class DeployedZone:
    """What a zone forecasts with at one generation.

    Args:
        generation: Counts changes of the models in service.
        scaling: Of inputs and power; None before the first warm-up.
        forecasts: What makes the forecasts; None before the first warm-up.
        trouble: Why there is nothing to forecast with.
        widths: Quantiles, if there are any.
        removed: Journal entry that deleted an entity of the zone last.
        numbers: The store's number of each entity that the learner knows.
    """

    generation: int
    scaling: Scaling | None = None
    forecasts: ZoneForecasts | None = None
    trouble: str | None = None
    widths: ZoneQuantiles | None = None
    removed: int = 0
    numbers: Mapping[str, int] = field(default_factory=dict)

    def is_current(self, entity: RegisteredEntity) -> bool:
        """Whether an entity's id means itself here, and not a deleted entity of the same id."""
        return self.numbers.get(entity.id, entity.number) == entity.number

    def reason_without_model(self, entity: RegisteredEntity) -> str:
        """Why an entity has no model."""
        waiting = f"{entity.id} has no model yet; send its history and ask for a warm-up"
        if self.forecasts is None or not self.is_current(entity):
            return self.trouble or waiting
        return self.forecasts.reasons.get(entity.id) or self.trouble or waiting

    def versions(self, entity: str) -> Versions | None:
        """The versions that forecast an entity; None if none do."""
        return None if self.forecasts is None else self.forecasts.versions(entity)

    def lead_in(self, step: int) -> int:
        """Number of steps before this one whose inputs its forecast depends on."""
        return 0 if self.forecasts is None else self.forecasts.lead_in(step)
