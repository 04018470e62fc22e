"""Power forecasts by the deployed models, or by a fallback that is marked as such."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from clearwatt.arrays import Float64Array
from clearwatt.intervals import MovedForecasts
from clearwatt.service.forecasting.coverage import Inputs
from clearwatt.service.forecasting.deployed import DeployedZone, ScaledForecasts
from clearwatt.service.forecasting.fallback import Source, UsableReadings, substitute
from clearwatt.service.quality import PlausiblePower, plausible_power
from clearwatt.service.records import RegisteredEntity, Vintage, Zone
from clearwatt.service.status import ZoneStatus
from clearwatt.service.store import Store
from clearwatt.service.times import text

NONSENSE = 3.0
"""Forecasts beyond this multiple of an entity's size are discarded."""

NEVER = 2**40
"""More steps ago than any clock has."""

BAND = (0.25, 0.75)
"""A forecast lies between these quantiles, and so within the physical limits of its entity."""


class LevelQuantiles(NamedTuple):
    """Scaled quantiles (levels x n) of an entity: ends of its band, and the levels asked for."""

    band: Float64Array
    asked: Float64Array


Cause = Literal["weather", "model", "nonsense", "readings"]


class MissingValues(NamedTuple):
    """Why the model (or the fallback) has no value, and for which times.

    ``start`` and ``end`` are the first and the last step concerned.
    """

    cause: Cause
    reason: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, eq=False)
class EntityForecast:
    """A forecast of an entity: times, values (unit of power) and sources, all (n).

    ``encoder`` and ``predictor`` are the versions behind the steps from the model, None if there
    are none; ``weather`` is when the oldest and the newest weather used was issued;
    ``measured_until`` is the time of the newest measurement used, None: none. ``quantiles``
    (levels x n) are NaN where a fallback answers, and None if there are none. ``number`` is the
    store's number of the entity.
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
    missing: tuple[MissingValues, ...] = ()
    levels: tuple[float, ...] = ()
    quantiles: npt.NDArray[np.float32] | None = None
    number: int | None = None
    measured_until: int | None = None

    @property
    def vintage(self) -> Vintage:
        """The forecast as it is stored."""
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
            number=self.number,
            measured_until=self.measured_until,
        )


@dataclass(frozen=True, slots=True, eq=False)
class ZoneRequest:
    """A request for entities of a zone and times (n), with models and inputs to answer it.

    ``lead_in`` are the inputs of the steps before, as far as the forecasts depend on them.
    """

    zone: Zone
    entities: tuple[RegisteredEntity, ...]
    times: npt.NDArray[np.int64]
    deployed: DeployedZone
    inputs: Inputs | None
    lead_in: Inputs | None
    issued_at: float
    levels: tuple[float, ...] = ()

    def forecasts(self, store: Store) -> Iterator[EntityForecast]:
        """Forecasts of the entities, in their order; readings are read only for fallbacks."""
        gaps = () if self.inputs is None else tuple(_weather_gaps(self.zone, self.inputs))
        modelled = self._scaled_forecasts()
        quantiles = self._quantiles(modelled)
        zone_status = cache(lambda: store.status(self.zone.id))  # read once, for fallbacks only
        for entity in self.entities:
            own, found = modelled.get(entity.id), quantiles.get(entity.id)
            scaled = None if own is None else own.power
            if scaled is not None and found is not None:
                scaled = _clip_to_band(scaled, *found.band)
            usable = partial(self._usable_readings, entity, zone_status)
            forecast = self._forecast(store, entity, scaled, gaps, usable=usable)
            yield self._complete(forecast, found, self._plausible_power(entity))

    def _plausible_power(self, entity: RegisteredEntity) -> PlausiblePower:
        """The range of an entity's answers, of whatever source."""
        scaling = self.deployed.scaling
        if (
            entity.capacity is not None
            or scaling is None
            or entity.id not in scaling.power
            or not self.deployed.is_current(entity)
        ):
            return plausible_power(entity)
        return plausible_power(entity, NONSENSE * scaling.power[entity.id])

    def _quantiles(self, modelled: Mapping[str, ScaledForecasts]) -> dict[str, LevelQuantiles]:
        """Scaled quantiles around the forecasts of the models: of the band and of the levels.

        They are calibrated for a day ahead, and for a few leads where newer measurements are known.
        """
        widths = self.deployed.widths
        if widths is None or self.deployed.scaling is None:
            return {}
        known = [e for e in self.entities if e.id in modelled and e.number in widths.columns]
        if not known:
            return {}
        levels = sorted({*BAND, *self.levels})
        power, day_ahead, spread = (
            np.stack(part, axis=1)
            for part in zip(*(modelled[entity.id] for entity in known), strict=True)
        )
        quantiles = widths.snapshot.quantiles(
            day_ahead,
            self.times // self.zone.step,
            levels,
            columns=np.array([widths.columns[entity.number] for entity in known], np.int64),
            moved=MovedForecasts(power, spread, self._steps_ahead(known)),
        )
        # Levels x entities x steps, so that the steps of an entity lie together.
        parts = [
            np.ascontiguousarray(quantiles[..., [levels.index(each) for each in own]].T)
            for own in (BAND, self.levels)
        ]
        return {
            entity.id: LevelQuantiles(*(part[:, at] for part in parts))
            for at, entity in enumerate(known)
        }

    def _steps_ahead(self, entities: Sequence[RegisteredEntity]) -> npt.NDArray[np.int64]:
        """Steps from the newest measurement that each entity's forecast uses (n x k)."""
        assert self.deployed.forecasts is not None
        newest = [self.deployed.forecasts.measured_until(each.id) for each in entities]
        steps = (self.times // self.zone.step)[:, None]
        known = np.array([-NEVER if each is None else each for each in newest], np.int64)
        return np.asarray(steps - known, np.int64)

    def _complete(
        self, forecast: EntityForecast, quantiles: LevelQuantiles | None, power: PlausiblePower
    ) -> EntityForecast:
        """A forecast with its quantiles in the unit of power, both within the plausible power.

        Quantiles are NaN where a fallback answers.
        """
        values, scaling = np.clip(forecast.values, *power), self.deployed.scaling
        if quantiles is None or scaling is None or not self.levels:
            return replace(forecast, values=values)
        own = (quantiles.asked * scaling.power[forecast.entity]).astype(np.float32)
        own[:, forecast.sources != Source.MODEL] = np.nan
        clipped = np.clip(own, *power, out=own)
        return replace(forecast, values=values, levels=self.levels, quantiles=clipped)

    def _scaled_forecasts(self) -> dict[str, ScaledForecasts]:
        """Scaled values (n) by the models of entities that have one, NaN without weather."""
        current = filter(self.deployed.is_current, self.entities)
        ready = [each.id for each in current if self.deployed.versions(each.id) is not None]
        if self.inputs is None or not ready:
            return {}
        covered = self.inputs.complete
        values = np.full((3, len(ready), len(self.times)), np.nan)
        if covered.any():
            values[:, :, covered] = self._forecast_steps(self.inputs, ready)
        parts = map(ScaledForecasts._make, values.swapaxes(0, 1))
        return dict(zip(ready, parts, strict=True))

    def _forecast_steps(self, inputs: Inputs, ready: Sequence[str]) -> Float64Array:
        """`ScaledForecasts` (3 x k x n) for the times that have weather."""
        parts = [part for part in (self.lead_in, inputs) if part is not None]
        x = np.concatenate([part.x[part.complete] for part in parts])
        times = np.concatenate([part.times[part.complete] for part in parts])
        assert self.deployed.forecasts is not None
        found = self.deployed.forecasts.forecast(x, times // self.zone.step, ready)
        return np.stack(found)[:, :, len(x) - int(inputs.complete.sum()) :]

    def _forecast(
        self,
        store: Store,
        entity: RegisteredEntity,
        scaled: Float64Array | None,
        gaps: tuple[MissingValues, ...],
        *,
        usable: Callable[[], UsableReadings | None],
    ) -> EntityForecast:
        missing, values = self._model_values(entity, scaled, gaps)
        sources = np.full(len(values), Source.MODEL, np.uint8)
        modelled = np.isfinite(values)
        versions = self.deployed.versions(entity.id) if modelled.any() else None
        if not modelled.all():
            instead = substitute(
                store,
                entity,
                self.times[~modelled],
                timezone=self.zone.timezone,
                usable=usable,
            )
            values[~modelled], sources[~modelled] = instead.values, instead.sources
            if instead.reason:
                lost = self.times[sources == Source.NONE]
                missing += (MissingValues("readings", instead.reason, int(lost[0]), int(lost[-1])),)
        return EntityForecast(
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
            weather=self._weather(modelled),
            missing=missing,
            number=entity.number,
            measured_until=None if versions is None else self._measured_until(entity.id),
        )

    def _measured_until(self, entity: str) -> int | None:
        """The time of the newest measurement that an entity's forecast uses."""
        assert self.deployed.forecasts is not None
        step = self.deployed.forecasts.measured_until(entity)
        return None if step is None else step * self.zone.step

    def _usable_readings(
        self, entity: RegisteredEntity, zone_status: Callable[[], ZoneStatus]
    ) -> UsableReadings | None:
        """The readings for fallbacks; None: they are not judged, because there is no model."""
        status = zone_status()
        own = status.entity(entity.id, number=entity.number)
        if own.predictor is None or status.until is None:
            return None
        return UsableReadings(self._plausible_power(entity), judged=status.until)

    def _model_values(
        self, entity: RegisteredEntity, scaled: Float64Array | None, gaps: tuple[MissingValues, ...]
    ) -> tuple[tuple[MissingValues, ...], Float64Array]:
        """The gaps, and the model's values in the unit of power, NaN where it has none."""
        ends = int(self.times[0]), int(self.times[-1])
        if scaled is None or self.inputs is None or self.deployed.scaling is None:
            reason = self.deployed.reason_without_model(entity)
            return (MissingValues("model", reason, *ends),), np.full(len(self.times), np.nan)
        size = self.deployed.scaling.power[entity.id]
        absurd = self.inputs.complete & ~(np.abs(scaled) <= NONSENSE)
        if absurd.any():
            times, versions = self.times[absurd], self.deployed.versions(entity.id)
            reason = (
                f"{versions and versions.predictor} gave values that are not finite or beyond "
                f"{NONSENSE:g} x {size:g} {entity.unit}; activate an earlier version"
            )
            gaps += (MissingValues("nonsense", reason, int(times[0]), int(times[-1])),)
        return gaps, np.where(absurd, np.nan, scaled * size)

    def _weather(self, modelled: npt.NDArray[np.bool_]) -> tuple[int, int] | None:
        if self.inputs is None or not modelled.any():
            return None
        issued = self.inputs.issued[modelled]
        return int(issued.min()), int(issued.max())


def _clip_to_band(scaled: Float64Array, low: Float64Array, high: Float64Array) -> Float64Array:
    """Values (n) moved to the nearest end of their band; absurd ones stay to be discarded."""
    return np.where(np.abs(scaled) <= NONSENSE, np.clip(scaled, low, high), scaled)


def _weather_gaps(zone: Zone, inputs: Inputs) -> Iterator[MissingValues]:
    """Each run of times without complete weather, and which variables are missing."""
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
        yield MissingValues("weather", reason, start, end)
