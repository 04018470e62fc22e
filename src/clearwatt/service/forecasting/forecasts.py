"""Answers forecast requests, also while inputs are missing or models are swapped."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from clearwatt.adaptive.latest import LatestMeasurements
from clearwatt.errors import DataError, StateError
from clearwatt.packing import from_bytes
from clearwatt.service.forecasting.answers import Cause, EntityForecast, ZoneRequest
from clearwatt.service.forecasting.coverage import Coverage
from clearwatt.service.forecasting.deployed import DeployedZone
from clearwatt.service.forecasting.deployments import Deployments
from clearwatt.service.forecasting.library import Files, Versions
from clearwatt.service.forecasting.recorder import Recorder
from clearwatt.service.forecasting.version_forecasts import (
    VersionForecast,
    forecast_inputs,
    reach_of,
    restore_weather,
)
from clearwatt.service.records import RegisteredEntity, ServiceEvent, Zone
from clearwatt.service.registry import Registry
from clearwatt.service.store import Store
from clearwatt.service.times import text

__all__ = ["EntityForecast", "ForecastService"]

EVENT_INTERVAL = 3600
"""Seconds within which fallbacks of one zone and cause are recorded as one event."""


class ForecastObserver(Protocol):
    """Receives every answer, such as `clearwatt.service.metrics.Metrics`."""

    def count_forecasts(self, forecasts: Iterable[EntityForecast], *, seconds: float) -> None:
        """Count the forecasts of one request and the seconds it took."""


class ForecastService:
    """Forecasts with the deployed models; safe to call from several threads.

    It reads models, weather and readings and changes none of them. The caller reports commits of
    the learner (`reload`) and new weather (`forget_weather`), which is passed on to
    ``weather_changed`` for other web nodes of a cluster (`forget_inputs`).
    """

    def __init__(
        self,
        store: Store,
        files: Files,
        *,
        registry: Registry | None = None,
        metrics: ForecastObserver | None = None,
        weather_changed: Callable[[str], None] = lambda zone: None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._metrics, self._weather_changed = metrics, weather_changed
        self.recorder = Recorder(store)
        self._store, self._clock = store, clock
        self._registry = registry or Registry(store)
        self._deployments = Deployments(store, files, clock=clock)
        self._coverage = Coverage(store)
        self._last_event: dict[tuple[str, Cause], int] = {}

    def forecast(
        self, entities: Sequence[str], start: int, end: int, *, levels: Sequence[float] = ()
    ) -> list[EntityForecast]:
        """Forecast entities for the steps of their zones with start <= time < end, in their order.

        With levels each has quantiles, where available.

        Raises:
            UnknownIdError: an entity is not registered.
            DataError: there is no step in the range.
        """
        began = time.perf_counter()
        found: dict[str, EntityForecast] = {}
        for zone, members in self._by_zone(entities).items():
            request = self._request(self._registry.zone(zone), members, (start, end), levels)
            found |= {forecast.entity: forecast for forecast in request.forecasts(self._store)}
        self.recorder.record([forecast.vintage for forecast in found.values()])
        self._record_fallbacks(found.values())
        if self._metrics is not None:
            self._metrics.count_forecasts(found.values(), seconds=time.perf_counter() - began)
        return [found[name] for name in entities]

    def forecast_by(
        self, versions: Versions, *, entity: str, start: int, end: int
    ) -> VersionForecast:
        """Forecast an entity by chosen versions for start <= time < end; nothing is recorded.

        Raises:
            UnknownIdError: the entity is not registered.
            StateError: there is no model, or a version cannot be read.
        """
        known = self._registry.entity(entity)
        zone, deployed = self._registry.zone(known.zone), self._deployments.of(known.zone)
        scaling = deployed.scaling
        if scaling is None or deployed.versions(entity) is None or not deployed.is_current(known):
            raise StateError(deployed.reason_without_model(known))
        times, before = _steps(zone, start, end), reach_of(deployed)
        whole = np.arange(times[0] - before * zone.step, times[-1] + 1, zone.step)
        inputs = self._coverage.inputs(zone, scaling, whole)
        scaled = forecast_inputs(
            deployed,
            self._deployments.library,
            versions,
            entity=entity,
            inputs=inputs,
            step=zone.step,
        )
        weather = restore_weather(scaling, zone.id, inputs.x)
        return VersionForecast(times, scaled[before:] * scaling.power[entity], weather[before:])

    def reload(self, zone: str, *, generation: int | None = None) -> None:
        """Put the committed models of a zone into service, unless they are already."""
        self._deployments.reload(zone, generation=generation)

    def refresh(self, zone: str, content: bytes) -> None:
        """Forecast a zone with its newest readings, as the learner has sent them."""
        self._deployments.refresh(zone, from_bytes(LatestMeasurements, content))

    def forget_zone(self, zone: str) -> None:
        """Drop what is cached of a zone, because it or entities of it were deleted."""
        self._deployments.forget(zone)
        self._coverage.forget(zone)

    def forget_weather(self, zone: str) -> None:
        """Delete the cached inputs of a zone, because its weather changed here."""
        self.forget_inputs(zone)
        self._weather_changed(zone)

    def forget_inputs(self, zone: str) -> None:
        """Delete the cached inputs of a zone, because its weather changed elsewhere."""
        self._coverage.forget(zone)

    def deployed(self, zone: str) -> DeployedZone:
        """The deployed models of a zone."""
        return self._deployments.of(zone)

    def close(self) -> None:
        """Write pending vintages and events."""
        self.recorder.close()

    def _request(
        self,
        zone: Zone,
        entities: Sequence[RegisteredEntity],
        span: tuple[int, int],
        levels: Sequence[float],
    ) -> ZoneRequest:
        times = _steps(zone, *span)
        deployed, inputs, lead_in = self._deployments.of(zone.id), None, None
        if deployed.scaling is not None:
            before = deployed.lead_in(int(times[0]) // zone.step)
            whole = np.arange(times[0] - before * zone.step, times[-1] + 1, zone.step)
            found = self._coverage.inputs(zone, deployed.scaling, whole)
            lead_in, inputs = found.part(slice(before)), found.part(slice(before, None))
        return ZoneRequest(
            zone, tuple(entities), times, deployed, inputs, lead_in, self._clock(), tuple(levels)
        )

    def _by_zone(self, names: Sequence[str]) -> dict[str, list[RegisteredEntity]]:
        """The requested entities, each once, by zone."""
        grouped: dict[str, list[RegisteredEntity]] = {}
        for name in dict.fromkeys(names):
            entity = self._registry.entity(name)
            grouped.setdefault(entity.zone, []).append(entity)
        return grouped

    def _record_fallbacks(self, forecasts: Iterable[EntityForecast]) -> None:
        """Record fallbacks: at most one event per zone, cause and `EVENT_INTERVAL`."""
        now = self._clock()
        for forecast in forecasts:
            for missing in forecast.missing:
                about = (forecast.zone, missing.cause)
                interval = int(now // EVENT_INTERVAL)
                if self._last_event.get(about) == interval:
                    continue
                self._last_event[about] = interval
                event = ServiceEvent(
                    key=f"fallback:{forecast.zone}:{missing.cause}:{interval}",
                    kind="fallback",
                    message=f"a fallback answers for {forecast.entity}: {missing.reason}",
                    at=now,
                    zone=forecast.zone,
                    entity=forecast.entity,
                    time=missing.start,
                    details={"cause": missing.cause, "start": missing.start, "end": missing.end},
                )
                self.recorder.queue_event(event)


def _steps(zone: Zone, start: int, end: int) -> npt.NDArray[np.int64]:
    """The steps of a zone's clock with start <= time < end."""
    first = -(-start // zone.step) * zone.step
    if first >= end:
        raise DataError(
            f"no step of {zone.step} s lies from {text(start)} to before {text(end)}; "
            "ask for a longer range"
        )
    return np.arange(first, end, zone.step, dtype=np.int64)
