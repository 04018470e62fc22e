"""Power forecasts as they are given: by the deployed models, or by a fallback that says so."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from clearwatt.service.forecasting.coverage import Inputs
from clearwatt.service.forecasting.deployed import Deployed
from clearwatt.service.forecasting.fallback import Source, substitute
from clearwatt.service.records import Entity, Vintage, Zone
from clearwatt.service.store.base import Store
from clearwatt.service.times import text

NONSENSE = 3.0
"""A forecast beyond so many times an entity's size is not one."""

Cause = Literal["weather", "model", "nonsense", "readings"]
Values = npt.NDArray[np.float64]


class Step(NamedTuple):
    """One step of a forecast; ``value`` is None if even the fallback has none."""

    time: int
    value: float | None
    source: str


class Missing(NamedTuple):
    """What kept the model (or the fallback) from answering, in words, and for which times.

    ``start`` and ``end`` are the first and the last step concerned.
    """

    cause: Cause
    reason: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, eq=False)
class Forecast:
    """What was said for an entity: times, values (unit of power) and sources, all (n).

    ``encoder`` and ``predictor`` are the versions behind the steps from the model, None if there
    are none; ``weather`` is when the oldest and the newest weather used was issued.
    """

    entity: str
    zone: str
    unit: str
    step: int
    issued_at: float
    times: npt.NDArray[np.int64]
    values: npt.NDArray[np.float32]
    sources: npt.NDArray[np.uint8]
    encoder: str | None = None
    predictor: str | None = None
    weather: tuple[int, int] | None = None
    missing: tuple[Missing, ...] = ()

    def steps(self) -> Iterator[Step]:
        """Step by step."""
        labels = [source.label for source in Source]
        rows = zip(self.times.tolist(), self.values.tolist(), self.sources.tolist(), strict=True)
        for moment, value, source in rows:
            yield Step(moment, None if source == Source.NONE else value, labels[source])

    @property
    def vintage(self) -> Vintage:
        """The forecast as it is kept."""
        return Vintage(
            entity=self.entity,
            issued_at=self.issued_at,
            weather_issued_at=None if self.weather is None else self.weather[1],
            encoder=self.encoder,
            predictor=self.predictor,
            start=int(self.times[0]),
            step=self.step,
            values=self.values,
            sources=self.sources,
        )


@dataclass(frozen=True, slots=True, eq=False)
class ZoneRequest:
    """Entities of a zone and the times (n) wanted, with all there is to answer from."""

    zone: Zone
    entities: tuple[Entity, ...]
    times: npt.NDArray[np.int64]
    deployed: Deployed
    inputs: Inputs | None
    issued_at: float

    def answered(self, store: Store) -> Iterator[Forecast]:
        """Forecasts of the entities, in their order; readings are read only for fallbacks."""
        gaps = () if self.inputs is None else tuple(_weather_gaps(self.zone, self.inputs))
        for entity, scaled in zip(self.entities, self._modelled(), strict=True):
            yield self._forecast(store, entity, scaled, gaps)

    def _modelled(self) -> Iterator[Values | None]:
        """Scaled values (n) by each entity's model, NaN without weather; None without a model."""
        ready = [e.id for e in self.entities if self.deployed.versions(e.id) is not None]
        results: dict[str, Values] = {}
        if self.inputs is not None and ready:
            covered = self.inputs.complete
            values = np.full((len(ready), len(self.times)), np.nan)
            if covered.any():
                values[:, covered] = self.deployed.forecast(self.inputs.x[covered], ready)
            results = dict(zip(ready, values, strict=True))
        return (results.get(entity.id) for entity in self.entities)

    def _forecast(
        self, store: Store, entity: Entity, scaled: Values | None, gaps: tuple[Missing, ...]
    ) -> Forecast:
        missing, values = self._judged(entity, scaled, gaps)
        sources = np.full(len(values), Source.MODEL, np.uint8)
        said = np.isfinite(values)
        versions = self.deployed.versions(entity.id) if said.any() else None
        if not said.all():
            instead = substitute(store, entity, self.times[~said], timezone=self.zone.timezone)
            values[~said], sources[~said] = instead.values, instead.sources
            if instead.reason:
                lost = self.times[sources == Source.NONE]
                missing += (Missing("readings", instead.reason, int(lost[0]), int(lost[-1])),)
        return Forecast(
            entity=entity.id,
            zone=self.zone.id,
            unit=entity.unit,
            step=self.zone.step,
            issued_at=self.issued_at,
            times=self.times,
            values=values.astype(np.float32),
            sources=sources,
            encoder=versions and versions.encoder,
            predictor=versions and versions.predictor,
            weather=self._weather(said),
            missing=missing,
        )

    def _judged(
        self, entity: Entity, scaled: Values | None, gaps: tuple[Missing, ...]
    ) -> tuple[tuple[Missing, ...], Values]:
        """What is missing, and the model's values in the unit of power, NaN where it has none."""
        ends = int(self.times[0]), int(self.times[-1])
        if scaled is None or self.inputs is None or self.deployed.scaling is None:
            reason = self.deployed.why_none(entity.id)
            return (Missing("model", reason, *ends),), np.full(len(self.times), np.nan)
        size = self.deployed.scaling.power[entity.id]
        absurd = self.inputs.complete & ~(np.abs(scaled) <= NONSENSE)
        if absurd.any():
            times, versions = self.times[absurd], self.deployed.versions(entity.id)
            reason = (
                f"{versions and versions.predictor} gave values that are not finite or beyond "
                f"{NONSENSE:g} x {size:g} {entity.unit}; activate an earlier version"
            )
            gaps += (Missing("nonsense", reason, int(times[0]), int(times[-1])),)
        return gaps, np.where(absurd, np.nan, scaled * size)

    def _weather(self, said: npt.NDArray[np.bool_]) -> tuple[int, int] | None:
        if self.inputs is None or not said.any():
            return None
        issued = self.inputs.issued[said]
        return int(issued.min()), int(issued.max())


def _weather_gaps(zone: Zone, inputs: Inputs) -> Iterator[Missing]:
    """Each run of times without complete weather, and what of it is missing."""
    absent = np.isnan(inputs.x[:, : len(zone.variables)])
    open_steps = np.flatnonzero(~inputs.complete)
    for run in np.split(open_steps, np.flatnonzero(np.diff(open_steps) > 1) + 1):
        if not len(run):
            return
        start, end = int(inputs.times[run[0]]), int(inputs.times[run[-1]])
        lacking = [name for at, name in enumerate(zone.variables) if absent[run, at].any()]
        what = "weather" if len(lacking) == len(zone.variables) else ", ".join(lacking)
        remedy = inputs.trouble or "send a weather forecast that covers it"
        reason = f"no {what} for zone {zone.id} from {text(start)} to {text(end)}; {remedy}"
        yield Missing("weather", reason, start, end)
