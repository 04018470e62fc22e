"""Metrics for Prometheus; docs/metrics.md lists them.

Each application has its own `Metrics`, nothing is global. Requests, readings and forecasts are
counted as they happen; the status of zones and entities is read from the store at each scrape.
"""

from __future__ import annotations

import time
from collections import Counter as Tally
from collections.abc import Callable, Iterable
from typing import Protocol

import numpy as np
from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from clearwatt.service.forecasting.answers import EntityForecast
from clearwatt.service.forecasting.fallback import Source
from clearwatt.service.rates import Rate
from clearwatt.service.records import Receipt

CONTENT_TYPE = CONTENT_TYPE_LATEST
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0)


class MetricSource(Protocol):
    """A source of samples that is read at each scrape."""

    def text(self) -> str:
        """Samples in the text format of Prometheus."""


class Metrics:
    """Counters of one application, and further sources read at each scrape."""

    def __init__(self, *, clock: Callable[[], float] = time.time) -> None:
        self.registry: CollectorRegistry = _CompactRegistry(auto_describe=True)
        self._requests = Counter(
            "clearwatt_http_requests",
            "Requests answered.",
            ["method", "route", "status"],
            registry=self.registry,
        )
        self._request_seconds = Histogram(
            "clearwatt_http_request_seconds",
            "Duration of a request in seconds.",
            ["route"],
            buckets=_SECONDS,
            registry=self.registry,
        )
        self._readings = Counter(
            "clearwatt_ingested_readings",
            "Readings received, by result.",
            ["result"],
            registry=self.registry,
        )
        self._issues = Counter(
            "clearwatt_ingested_weather_issues",
            "Weather forecasts received.",
            ["zone"],
            registry=self.registry,
        )
        self._forecasts = Counter(
            "clearwatt_forecasts", "Forecasts answered, one per entity.", registry=self.registry
        )
        self._seconds = Histogram(
            "clearwatt_forecast_seconds",
            "Seconds to compute all forecasts of one request.",
            buckets=_SECONDS,
            registry=self.registry,
        )
        self._steps = Counter(
            "clearwatt_forecast_steps",
            "Steps forecast, by source.",
            ["source"],
            registry=self.registry,
        )
        self._fallbacks = Counter(
            "clearwatt_fallbacks",
            "Forecasts with a fallback in at least one step, by cause.",
            ["zone", "cause"],
            registry=self.registry,
        )
        self._deleted_vintages = Counter(
            "clearwatt_vintages_deleted",
            "Recorded forecasts deleted because of their age.",
            registry=self.registry,
        )
        self._archived_entries = Counter(
            "clearwatt_journal_archived_entries",
            "Journal entries moved from the database to the archive.",
            registry=self.registry,
        )
        self.ingestion = Rate()
        self._sources: list[MetricSource] = []
        self._ages = _Ages(clock)
        self.registry.register(self._ages)
        for result in (*Receipt._fields, "rejected"):
            self._readings.labels(result)
        for source in Source:
            self._steps.labels(source.label)

    def count_request(self, *, method: str, route: str, status: int, seconds: float) -> None:
        """Count an answer; ``route`` is the pattern, not the address, to limit the series."""
        self._requests.labels(method, route, str(status)).inc()
        self._request_seconds.labels(route).observe(seconds)

    def count_readings(self, receipt: Receipt, *, rejected: int = 0) -> None:
        """Count the readings of a batch by result."""
        for result, count in {**receipt._asdict(), "rejected": rejected}.items():
            self._readings.labels(result).inc(count)
        self.ingestion.add(receipt.new + receipt.corrections)

    def count_weather(self, zone: str) -> None:
        """Count an incoming weather forecast."""
        self._issues.labels(zone).inc()

    def count_forecasts(self, forecasts: Iterable[EntityForecast], *, seconds: float) -> None:
        """Count the forecasts of one request and the seconds it took."""
        record, causes, sources = 0, Tally[tuple[str, str]](), np.zeros(len(Source), np.int64)
        for forecast in forecasts:
            record += 1
            sources += np.bincount(forecast.sources, minlength=len(Source))
            causes.update({(forecast.zone, missing.cause) for missing in forecast.missing})
            self._ages.record(forecast)
        self._forecasts.inc(record)
        self._seconds.observe(seconds)
        for source in Source:
            self._steps.labels(source.label).inc(int(sources[source]))
        for (zone, cause), count in causes.items():
            self._fallbacks.labels(zone, cause).inc(count)

    def count_deleted_vintages(self, count: int) -> None:
        """Count recorded forecasts that were deleted because of their age."""
        self._deleted_vintages.inc(count)

    def count_archived_entries(self, count: int) -> None:
        """Count journal entries that were moved to the archive."""
        self._archived_entries.inc(count)

    def last_forecasts(self) -> dict[str, tuple[float, int | None]]:
        """Times of the last forecast of each zone and of the issue of its weather."""
        return dict(self._ages.last)

    def collect_from(self, source: MetricSource) -> None:
        """Add a source to read at each scrape, such as `clearwatt.service.views.gauges`."""
        self._sources.append(source)

    def render(self) -> bytes:
        """All metrics in the text format of Prometheus; served as `CONTENT_TYPE`."""
        counters = generate_latest(self.registry)
        return counters + "".join(source.text() for source in self._sources).encode()


class _CompactRegistry(CollectorRegistry):
    """Registry without the creation time of each counter, which doubles the lines."""

    def collect(self) -> Iterable[Metric]:
        """All metrics with samples."""
        for metric in super().collect():
            if metric.type in ("counter", "histogram"):
                metric.samples = [s for s in metric.samples if not s.name.endswith("_created")]
            yield metric


class _Ages(Collector):
    """Ages of the last forecast of each zone and of its weather."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self.last: dict[str, tuple[float, int | None]] = {}

    def record(self, forecast: EntityForecast) -> None:
        weather = None if forecast.weather is None else forecast.weather[1]
        self.last[forecast.zone] = forecast.issued_at, weather

    def collect(self) -> Iterable[Metric]:
        """Current ages."""
        now = self._clock()
        forecast = GaugeMetricFamily(
            "clearwatt_forecast_age_seconds",
            "Seconds since the last forecast of a zone.",
            labels=["zone"],
        )
        weather = GaugeMetricFamily(
            "clearwatt_forecast_weather_age_seconds",
            "Seconds since the weather of a zone's last forecast was issued.",
            labels=["zone"],
        )
        for zone, (issued_at, weather_issued_at) in list(self.last.items()):
            forecast.add_metric([zone], now - issued_at)
            if weather_issued_at is not None:
                weather.add_metric([zone], now - weather_issued_at)
        return [forecast, weather]
