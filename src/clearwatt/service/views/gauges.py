"""Prometheus gauges of zones, entities, learner and store, read at each scrape."""

from __future__ import annotations

import logging
from collections import Counter as Tally
from collections.abc import Callable, Mapping, Sequence
from threading import Lock

from clearwatt.errors import ClearwattError
from clearwatt.service.forecasting.recorder import Recorder
from clearwatt.service.learner.supervisor import Health
from clearwatt.service.records import ServiceEvent
from clearwatt.service.store import Store
from clearwatt.service.views.zone_samples import Samples, ZoneSamples, label
from clearwatt.service.weather_pull import PullState

_PAGE = 1000
_log = logging.getLogger(__name__)

_GAUGES: Mapping[str, str] = {
    "clearwatt_store_up": "1 if the store answers.",
    "clearwatt_store_bytes": "Bytes of the store on disk.",
    "clearwatt_store_rows": "Rows in each table of the store.",
    "clearwatt_learner_up": "1 if the learner runs.",
    "clearwatt_learner_heartbeat_age_seconds": "Seconds since the learner last spoke.",
    "clearwatt_trainings_waiting": "Zones that wait for a training.",
    "clearwatt_vintages_waiting": "Forecasts given that are still to be recorded.",
    "clearwatt_journal_waiting_entries": "Journal entries still to be learned from.",
    "clearwatt_zone_state": "1 for the state the zone is in.",
    "clearwatt_zone_degraded": "1 if learning fails and is retried.",
    "clearwatt_zone_newest_reading_timestamp_seconds": "Time of the newest reading.",
    "clearwatt_zone_closed_until_timestamp_seconds": "Time of the last row learned from.",
    "clearwatt_zone_pending_rows": "Rows that wait for readings or weather.",
    "clearwatt_zone_retained_bytes": "Bytes of the past that learning keeps.",
    "clearwatt_zone_entities": "Entities by their state.",
    "clearwatt_zones_unread": (
        "Zones with samples of an earlier scrape: reading all would have taken too long."
    ),
    "clearwatt_reconstruction_threshold": (
        "Error of the inputs' reconstruction above which a row is novel."
    ),
    "clearwatt_reconstruction_error": "Mean error of the reconstruction, last day.",
    "clearwatt_prediction_threshold_power": (
        "Error above which a reading is novel, in the entity's unit."
    ),
    "clearwatt_novelty_fill_ratio": "Fill of the novelty buffer; at 1 an update is triggered.",
    "clearwatt_familiar_samples": "Familiar samples since the last update.",
    "clearwatt_live_rmse_power": "Root mean square error of live forecasts, in the entity's unit.",
    "clearwatt_live_mae_power": "Mean absolute error of live forecasts, in the entity's unit.",
    "clearwatt_interval_coverage_ratio": (
        "Share of the readings of the last week inside the 90 % interval said of them."
    ),
    "clearwatt_interval_width_power": "Mean width of that interval, in the entity's unit.",
    "clearwatt_interval_coverage_two_weeks_ratio": (
        "Share of the readings of the two weeks before the last midnight inside the 90 % interval."
    ),
    "clearwatt_interval_too_narrow": (
        "1 if the 90 % interval contained less than 80 % of two full weeks of readings."
    ),
    "clearwatt_persistence_rmse_power": (
        "Error of repeating the last known day over two weeks, in the entity's unit."
    ),
    "clearwatt_skill_ratio": (
        "1 - error of live forecasts / error of repeating the last known day, over two weeks."
    ),
    "clearwatt_worse_than_persistence": (
        "1 if forecasts were worse than repeating the last known day, over two full weeks."
    ),
    "clearwatt_lead_rmse_ratio": (
        "Error of a zone's forecasts by lead over two weeks, as a share of capacity."
    ),
    "clearwatt_lead_skill_ratio": (
        "1 - that error / error of persistence: the last reading or the last day, what is better."
    ),
    "clearwatt_lead_coverage_ratio": (
        "Share of the readings of two weeks inside the 90 % interval of the lead."
    ),
    "clearwatt_quarantined_readings": "Readings in quarantine.",
    "clearwatt_suspected": "1 while the meter is suspected to report something else than power.",
    "clearwatt_weather_issued_timestamp_seconds": (
        "Issue time of the newest weather that the service fetched by itself."
    ),
    "clearwatt_weather_stale": "1 if the service could not fetch newer weather for 13 hours.",
}
_COUNTERS: Mapping[str, str] = {
    "clearwatt_learner_restarts_total": "Times the learner was started again.",
    "clearwatt_vintages_written_total": "Forecasts recorded.",
    "clearwatt_vintages_lost_total": "Forecasts given but not recorded.",
    "clearwatt_events_total": "Events since the service was started.",
    "clearwatt_promotions_refused_total": (
        "Updates the gate kept from service since the service was started."
    ),
    "clearwatt_weather_failures_total": "Failed attempts to fetch weather.",
    "clearwatt_updates_total": "Updates trained since the warm-up.",
    "clearwatt_judged_readings_total": "Readings judged since the warm-up.",
}
_DESCRIBED = {
    **{name: ("gauge", meaning) for name, meaning in _GAUGES.items()},
    **{name: ("counter", meaning) for name, meaning in _COUNTERS.items()},
}


class StatusGauges:
    """Gauges read from the store; a scrape is answered even if the store fails.

    The text is written here and not by prometheus_client: for ten thousand entities, a hundred
    thousand lines, the library blocks forecasts for a second.

    Args:
        store: The store of the service.
        recorder: The recorder of issued forecasts, if it is to be counted.
        health: Returns the health of the learner, if it is to be reported.
        weather: Returns the state of the weather that the service fetches, if it is to be reported.
    """

    def __init__(
        self,
        store: Store,
        *,
        recorder: Recorder | None = None,
        health: Callable[[], Health] | None = None,
        weather: Callable[[], Sequence[PullState]] = tuple,
    ) -> None:
        self._store, self._recorder, self._health = store, recorder, health
        self._weather, self._zones = weather, ZoneSamples(store)
        self._reading = Lock()
        self._events: Tally[str] = Tally()
        self._refused: Tally[str] = Tally()
        newest = store.events(limit=1)
        self._last_event = newest[0].seq if newest else 0

    def text(self) -> str:
        """Current values in the text format of Prometheus."""
        samples = Samples()
        self._read_process(samples)
        try:
            self._read_store(samples)
            samples.add("clearwatt_store_up", 1)
        except ClearwattError as error:
            _log.warning("store not read for metrics", extra={"reason": str(error)})
            samples.add("clearwatt_store_up", 0)
        return samples.text(_DESCRIBED)

    def _read_process(self, samples: Samples) -> None:
        if self._recorder is not None:
            counts = self._recorder.counts
            samples.add("clearwatt_vintages_waiting", counts.waiting)
            samples.add("clearwatt_vintages_written_total", counts.written)
            samples.add("clearwatt_vintages_lost_total", counts.lost)
        if self._health is not None:
            health = self._health()
            samples.add("clearwatt_learner_up", int(health.alive))
            samples.add("clearwatt_learner_restarts_total", health.restarts)
            samples.add("clearwatt_learner_heartbeat_age_seconds", health.heartbeat_age)
            samples.add("clearwatt_trainings_waiting", health.training)
        for state in self._weather():
            zone = label("zone", state.zone)
            samples.add("clearwatt_weather_issued_timestamp_seconds", state.issued_at, zone)
            samples.add("clearwatt_weather_stale", int(state.stale), zone)
            samples.add("clearwatt_weather_failures_total", state.failures, zone)

    def _read_store(self, samples: Samples) -> None:
        samples.add("clearwatt_store_bytes", self._store.size())
        counts = self._store.counts()
        for table, rows in counts.items():
            samples.add("clearwatt_store_rows", rows, label("table", table))
        self._read_events(samples)
        positions = self._store.positions()
        for zone, head in self._store.heads().items():
            position, _ = positions.get(zone, (0, 0))
            waiting = max(0, head - position)
            samples.add("clearwatt_journal_waiting_entries", waiting, label("zone", zone))
        zones = self._zones.read(entities=counts["entities"])
        for found in zones.samples:
            samples.update(found)
        samples.add("clearwatt_zones_unread", zones.unread)

    def _read_events(self, samples: Samples) -> None:
        with self._reading:
            while self._count(self._store.events(after=self._last_event, limit=_PAGE)) == _PAGE:
                pass
        for kind, count in self._events.items():
            samples.add("clearwatt_events_total", count, label("kind", kind))
        for zone, count in self._refused.items():
            samples.add("clearwatt_promotions_refused_total", count, label("zone", zone))

    def _count(self, events: Sequence[ServiceEvent]) -> int:
        self._events.update(event.kind for event in events)
        self._refused.update(event.zone or "" for event in events if event.kind == "refused")
        self._last_event = events[-1].seq if events else self._last_event
        return len(events)
