"""Prometheus samples of zones and their entities, rendered again where a status has changed."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from threading import Lock
from typing import NamedTuple

from clearwatt.service.records import StatusStamp
from clearwatt.service.status import ComponentStatus, EntityStatus, ZoneStatus
from clearwatt.service.store import Store
from clearwatt.service.views.zone_leads import zone_leads

MOST_ENTITIES = 10_000
"""Entities of a service up to which each has samples of its own; with more of them, only those that
need attention."""
_BATCH = 50
"""Statuses that are in memory at once."""


class Samples:
    """Lines in the text format of Prometheus, by the name of the metric."""

    def __init__(self) -> None:
        self._lines: dict[str, list[str]] = {}

    def add(self, name: str, value: float | None, labels: str = "") -> None:
        """Add a sample; None adds nothing."""
        if value is not None:
            line = f"{name}{{{labels}}} {value}" if labels else f"{name} {value}"
            self._lines.setdefault(name, []).append(line)

    def update(self, other: Samples) -> None:
        """Add all samples of another object."""
        for name, lines in other._lines.items():
            self._lines.setdefault(name, []).extend(lines)

    def text(self, described: Mapping[str, tuple[str, str]]) -> str:
        """All metrics with type and help, also those without samples."""
        assert self._lines.keys() <= described.keys(), "a metric without a description"
        parts = []
        for name, (kind, meaning) in described.items():
            parts += [f"# HELP {name} {meaning}", f"# TYPE {name} {kind}"]
            parts += self._lines.get(name, ())
        return "\n".join(parts) + "\n"


def label(name: str, value: str) -> str:
    """A label with its value in quotes."""
    escaped = value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
    return f'{name}="{escaped}"'


class _Rendered(NamedTuple):
    """Samples of a zone and everything that they depend on.

    ``numbers`` are those of its entities, ``deleted`` those of them that were left out.
    """

    stamp: StatusStamp
    everything: bool
    numbers: frozenset[int]
    deleted: frozenset[int]
    samples: Samples


class ZoneSamples:
    """Samples of all zones of a store; safe to use from several threads."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = Lock()
        self._known: dict[str, _Rendered] = {}

    def read(self, *, entities: int) -> Iterator[Samples]:
        """The samples of each zone, of a service with so many entities."""
        everything = entities <= MOST_ENTITIES
        deleted = frozenset(self._store.unforgotten_entities())
        with self._lock:
            stamps = self._store.status_stamps()
            known = {
                zone: found
                for zone, found in self._known.items()
                if stamps.get(zone) == found.stamp
                and everything == found.everything
                and deleted & found.numbers == found.deleted
            }
            changed = [zone for zone in stamps if zone not in known]
            for begin in range(0, len(changed), _BATCH):
                for status in self._store.statuses(changed[begin : begin + _BATCH]).values():
                    numbers = frozenset(status.entity_numbers.values())
                    samples = _zone_samples(_without(status, deleted), everything=everything)
                    known[status.zone] = _Rendered(
                        stamps[status.zone], everything, numbers, deleted & numbers, samples
                    )
            self._known = known
            return iter([found.samples for found in known.values()])


def _without(status: ZoneStatus, deleted: Collection[int]) -> ZoneStatus:
    """The status without entities that were deleted since it was written."""
    if not deleted:
        return status
    stay = {name: each for name, each in status.entities.items() if each.number not in deleted}
    return replace(status, entities=stay)


def _zone_samples(status: ZoneStatus, *, everything: bool) -> Samples:
    samples, zone = Samples(), label("zone", status.zone)
    samples.add("clearwatt_zone_state", 1, f"{zone},{label('state', status.state)}")
    samples.add("clearwatt_zone_degraded", int(bool(status.error)), zone)
    samples.add("clearwatt_zone_newest_reading_timestamp_seconds", status.watermark, zone)
    samples.add("clearwatt_zone_closed_until_timestamp_seconds", status.until, zone)
    samples.add("clearwatt_zone_pending_rows", status.pending_rows, zone)
    samples.add("clearwatt_zone_retained_bytes", status.retained_bytes, zone)
    states = Tally(entity.state for entity in status.entities.values())
    for state, count in states.items():
        samples.add("clearwatt_zone_entities", count, f"{zone},{label('state', state)}")
    if (shared := status.reconstruction) is not None:
        samples.add("clearwatt_reconstruction_threshold", shared.component.threshold, zone)
        samples.add("clearwatt_reconstruction_error", shared.error_day, zone)
        _add_component(samples, shared.component, f'component="autoencoder",{zone},entity=""')
    for each in zone_leads(status.entities.values()):
        labels = f"{zone},{label('lead_seconds', str(each.lead))}"
        samples.add("clearwatt_lead_rmse_ratio", each.share, labels)
        samples.add("clearwatt_lead_skill_ratio", each.skill, labels)
        samples.add("clearwatt_lead_coverage_ratio", each.coverage, labels)
    for name, entity in status.entities.items():
        labels = f"{zone},{label('entity', name)}"
        if everything or _needs_attention(entity):
            _add_entity(samples, entity, labels)
        elif entity.quarantined:
            samples.add("clearwatt_quarantined_readings", entity.quarantined, labels)
    return samples


def _needs_attention(status: EntityStatus) -> bool:
    """Whether one of the alerts of deploy/clearwatt-alerts.yml may be due."""
    day, week = status.live.rmse_day, status.live.rmse_week
    rises = day is not None and week is not None and day > week
    flagged = status.suspicion is not None or status.skill.worse or status.interval.too_narrow
    return flagged or rises


def _add_entity(samples: Samples, status: EntityStatus, labels: str) -> None:
    samples.add("clearwatt_quarantined_readings", status.quarantined, labels)
    if status.predictor is None:
        return
    samples.add("clearwatt_suspected", int(status.suspicion is not None), labels)
    samples.add("clearwatt_prediction_threshold_power", status.component.threshold, labels)
    samples.add("clearwatt_judged_readings_total", status.judged, labels)
    _add_component(samples, status.component, f'component="predictor",{labels}')
    day, week, live = f'{labels},window="day"', f'{labels},window="week"', status.live
    samples.add("clearwatt_live_rmse_power", live.rmse_day, day)
    samples.add("clearwatt_live_mae_power", live.mae_day, day)
    samples.add("clearwatt_live_rmse_power", live.rmse_week, week)
    samples.add("clearwatt_live_mae_power", live.mae_week, week)
    skill, interval = status.skill, status.interval
    samples.add("clearwatt_persistence_rmse_power", skill.rmse_persistence, labels)
    samples.add("clearwatt_skill_ratio", skill.skill, labels)
    samples.add("clearwatt_worse_than_persistence", int(skill.worse), labels)
    samples.add("clearwatt_interval_coverage_ratio", interval.coverage_week, labels)
    samples.add("clearwatt_interval_width_power", interval.width_week, labels)
    two_weeks = interval.coverage_two_weeks
    samples.add("clearwatt_interval_coverage_two_weeks_ratio", two_weeks, labels)
    samples.add("clearwatt_interval_too_narrow", int(interval.too_narrow), labels)


def _add_component(samples: Samples, component: ComponentStatus, labels: str) -> None:
    samples.add("clearwatt_novelty_fill_ratio", component.fill, labels)
    samples.add("clearwatt_familiar_samples", component.familiar, labels)
    samples.add("clearwatt_updates_total", component.updates, labels)
