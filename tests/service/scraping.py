"""Samples of an application's metrics, read back with Prometheus's own parser."""

from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families
from tests.service.plant import NOW, Plant

from clearwatt.service.learner.supervisor import Health
from clearwatt.service.metrics import Metrics
from clearwatt.service.views.gauges import StatusGauges
from clearwatt.service.views.machine_gauges import MachineGauges


def scraped(metrics: Metrics) -> dict[tuple[str, ...], float]:
    """Samples by name and label values (sorted by label)."""
    families = text_string_to_metric_families(metrics.render().decode())
    return {
        (sample.name, *(sample.labels[key] for key in sorted(sample.labels))): sample.value
        for family in families
        for sample in family.samples
    }


def watched(plant: Plant) -> Metrics:
    """Metrics as `serve` makes them, with a learner that was restarted twice."""
    health = Health(alive=True, restarts=2, heartbeat_age=3.0, training=4)
    metrics = Metrics(clock=lambda: NOW)
    metrics.collect_from(StatusGauges(plant.store, health=lambda: health))
    metrics.collect_from(MachineGauges(plant.folder))
    return metrics
