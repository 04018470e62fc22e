"""Where zones, entities, learner and store stand, read at each scrape."""

from __future__ import annotations

import logging
import time
from collections import Counter as Tally
from collections.abc import Callable, Iterable, Mapping, Sequence
from threading import Lock
from typing import Any, Protocol

from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from clearwatt.errors import ClearwattError
from clearwatt.service.recorder import Recorder
from clearwatt.service.records import Event, Status
from clearwatt.service.store.base import Store

_PAGE = 1000
_ZONE, _ENTITY = ("zone",), ("zone", "entity")
_COMPONENT = ("component", "zone", "entity")
_log = logging.getLogger(__name__)

_GAUGES: Mapping[str, tuple[str, Sequence[str]]] = {
    "clearwatt_store_up": ("1 if the store answers.", ()),
    "clearwatt_store_bytes": ("Bytes of the store on disk.", ()),
    "clearwatt_store_rows": ("Rows in each table of the store.", ("table",)),
    "clearwatt_learner_up": ("1 if the learner runs.", ()),
    "clearwatt_learner_heartbeat_age_seconds": ("Seconds since the learner last spoke.", ()),
    "clearwatt_vintages_waiting": ("Forecasts given that are still to be recorded.", ()),
    "clearwatt_journal_waiting_entries": ("Journal entries still to be learned from.", _ZONE),
    "clearwatt_zone_state": ("1 for the state the zone is in.", ("zone", "state")),
    "clearwatt_zone_degraded": ("1 if learning fails and is retried.", _ZONE),
    "clearwatt_zone_newest_reading_timestamp_seconds": ("Time of the newest reading.", _ZONE),
    "clearwatt_zone_closed_until_timestamp_seconds": ("Time of the last row learned from.", _ZONE),
    "clearwatt_zone_pending_rows": ("Rows that wait for readings or weather.", _ZONE),
    "clearwatt_zone_retained_bytes": ("Bytes of the past that learning keeps.", _ZONE),
    "clearwatt_zone_entities": ("Entities by their state.", ("zone", "state")),
    "clearwatt_reconstruction_threshold": (
        "Error of the inputs' reconstruction above which a row is novel.",
        _ZONE,
    ),
    "clearwatt_reconstruction_error": ("Mean error of the reconstruction, last day.", _ZONE),
    "clearwatt_prediction_threshold_power": (
        "Error above which a reading is novel, in the entity's unit.",
        _ENTITY,
    ),
    "clearwatt_novelty_fill_ratio": (
        "Fill of the novelty buffer; at 1 an update is triggered.",
        _COMPONENT,
    ),
    "clearwatt_familiar_samples": ("Familiar samples since the last update.", _COMPONENT),
    "clearwatt_live_rmse_power": (
        "Root mean square error of live forecasts, in the entity's unit.",
        (*_ENTITY, "window"),
    ),
    "clearwatt_live_mae_power": (
        "Mean absolute error of live forecasts, in the entity's unit.",
        (*_ENTITY, "window"),
    ),
    "clearwatt_quarantined_readings": ("Readings in quarantine.", _ENTITY),
}
_COUNTERS: Mapping[str, tuple[str, Sequence[str]]] = {
    "clearwatt_learner_restarts": ("Times the learner was started again.", ()),
    "clearwatt_vintages_written": ("Forecasts recorded.", ()),
    "clearwatt_vintages_lost": ("Forecasts given but not recorded.", ()),
    "clearwatt_events": ("Events since the service was started.", ("kind",)),
    "clearwatt_promotions_refused": (
        "Updates the gate kept from service since the service was started.",
        _ZONE,
    ),
    "clearwatt_updates": ("Updates trained since the warm-up.", _COMPONENT),
    "clearwatt_judged_readings": ("Readings judged since the warm-up.", _ENTITY),
}


class Learner(Protocol):
    """What is asked of the learner's supervisor."""

    @property
    def alive(self) -> bool:
        """Whether it runs."""

    @property
    def heartbeat(self) -> float | None:
        """When it last spoke."""

    @property
    def restarts(self) -> int:
        """How often it was started again."""


class Standing(Collector):
    """Reads the store; whatever it does, a scrape is answered."""

    def __init__(
        self,
        store: Store,
        *,
        recorder: Recorder | None = None,
        learner: Learner | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._store, self._recorder, self._learner, self._clock = store, recorder, learner, clock
        self._reading = Lock()
        self._events: Tally[str] = Tally()
        self._refused: Tally[str] = Tally()
        newest = store.events(limit=1)
        self._last_event = newest[0].seq if newest else 0

    def describe(self) -> Iterable[Metric]:
        """All there can be, so that names are checked without reading the store."""
        return _Sheet().families()

    def collect(self) -> Iterable[Metric]:
        """At this moment."""
        sheet = _Sheet()
        self._read_process(sheet)
        try:
            self._read_store(sheet)
            sheet.add("clearwatt_store_up", 1)
        except ClearwattError as error:
            _log.warning("store not read for metrics", extra={"reason": str(error)})
            sheet.add("clearwatt_store_up", 0)
        return sheet.families()

    def _read_process(self, sheet: _Sheet) -> None:
        if self._recorder is not None:
            counts = self._recorder.counts
            sheet.add("clearwatt_vintages_waiting", counts.waiting)
            sheet.add("clearwatt_vintages_written", counts.written)
            sheet.add("clearwatt_vintages_lost", counts.lost)
        if self._learner is not None:
            sheet.add("clearwatt_learner_up", self._learner.alive)
            sheet.add("clearwatt_learner_restarts", self._learner.restarts)
            if self._learner.heartbeat is not None:
                age = self._clock() - self._learner.heartbeat
                sheet.add("clearwatt_learner_heartbeat_age_seconds", age)

    def _read_store(self, sheet: _Sheet) -> None:
        sheet.add("clearwatt_store_bytes", self._store.size())
        for table, rows in self._store.counts().items():
            sheet.add("clearwatt_store_rows", rows, table)
        self._read_events(sheet)
        statuses, heads = self._store.statuses(), self._store.heads()
        for zone, head in heads.items():
            folded = statuses[zone].position if zone in statuses else 0
            sheet.add("clearwatt_journal_waiting_entries", max(0, head - folded), zone)
        for status in statuses.values():
            _add_zone(sheet, status)

    def _read_events(self, sheet: _Sheet) -> None:
        with self._reading:
            while self._count(self._store.events(after=self._last_event, limit=_PAGE)) == _PAGE:
                pass
        for kind, count in self._events.items():
            sheet.add("clearwatt_events", count, kind)
        for zone, count in self._refused.items():
            sheet.add("clearwatt_promotions_refused", count, zone)

    def _count(self, events: Sequence[Event]) -> int:
        self._events.update(event.kind for event in events)
        self._refused.update(event.zone or "" for event in events if event.kind == "refused")
        self._last_event = events[-1].seq if events else self._last_event
        return len(events)


class _Sheet:
    """The families of one scrape, by name."""

    def __init__(self) -> None:
        self._families: dict[str, Metric] = {
            name: GaugeMetricFamily(name, text, labels=labels)
            for name, (text, labels) in _GAUGES.items()
        }
        self._suffixes = dict.fromkeys(_GAUGES, "") | dict.fromkeys(_COUNTERS, "_total")
        self._labels = {
            name: labels for name, (_, labels) in (*_GAUGES.items(), *_COUNTERS.items())
        }
        self._families |= {
            name: CounterMetricFamily(name, text, labels=labels)
            for name, (text, labels) in _COUNTERS.items()
        }

    def add(self, name: str, value: float | None, *labels: str) -> None:
        """Add a sample, unless there is no value."""
        if value is not None:
            names = dict(zip(self._labels[name], labels, strict=True))
            self._families[name].add_sample(name + self._suffixes[name], names, float(value))

    def families(self) -> list[Metric]:
        """All families, those without samples too."""
        return list(self._families.values())


def _add_zone(sheet: _Sheet, status: Status) -> None:
    zone, content = status.zone, status.content
    sheet.add("clearwatt_zone_state", 1, zone, content["state"])
    sheet.add("clearwatt_zone_degraded", bool(content.get("error")), zone)
    sheet.add("clearwatt_zone_newest_reading_timestamp_seconds", content["watermark"], zone)
    sheet.add("clearwatt_zone_closed_until_timestamp_seconds", content["until"], zone)
    sheet.add("clearwatt_zone_pending_rows", content["pending_rows"], zone)
    sheet.add("clearwatt_zone_retained_bytes", content["retained_bytes"], zone)
    states = Tally(str(entity["state"]) for entity in content["entities"].values())
    for state, count in states.items():
        sheet.add("clearwatt_zone_entities", count, zone, state)
    if (shared := content.get("reconstruction")) is not None:
        sheet.add("clearwatt_reconstruction_threshold", shared.get("threshold"), zone)
        sheet.add("clearwatt_reconstruction_error", shared.get("error_day"), zone)
        _add_component(sheet, shared, "autoencoder", zone, "")
    for entity, values in content["entities"].items():
        _add_entity(sheet, zone, entity, values)


def _add_entity(sheet: _Sheet, zone: str, entity: str, values: Mapping[str, Any]) -> None:
    sheet.add("clearwatt_quarantined_readings", values.get("quarantined"), zone, entity)
    if values.get("predictor") is None:
        return
    sheet.add("clearwatt_prediction_threshold_power", values.get("threshold"), zone, entity)
    sheet.add("clearwatt_judged_readings", values.get("judged"), zone, entity)
    _add_component(sheet, values, "predictor", zone, entity)
    for window in ("day", "week"):
        live = values.get("live") or {}
        sheet.add("clearwatt_live_rmse_power", live.get(f"rmse_{window}"), zone, entity, window)
        sheet.add("clearwatt_live_mae_power", live.get(f"mae_{window}"), zone, entity, window)


def _add_component(
    sheet: _Sheet, values: Mapping[str, Any], component: str, zone: str, entity: str
) -> None:
    labels = component, zone, entity
    sheet.add("clearwatt_novelty_fill_ratio", values["novel"] / values["capacity"], *labels)
    sheet.add("clearwatt_familiar_samples", values.get("familiar"), *labels)
    sheet.add("clearwatt_updates", values.get("updates"), *labels)
