"""Thresholds of an entity over time: one change per deployed model."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from clearwatt.service.records import RegisteredEntity, ServiceEvent
from clearwatt.service.store import Store
from clearwatt.strategies import ComponentName

MOST_EVENTS = 1000
"""Maximum number of model changes to read; an entity updates a few times a month."""
KINDS = ("update", "activate")


class ThresholdChange(NamedTuple):
    """Threshold ``value`` from ``time`` on (None: from the beginning)."""

    time: int | None
    value: float


def threshold_steps(
    store: Store, entity: RegisteredEntity, deployed: Mapping[ComponentName, str | None]
) -> dict[ComponentName, list[ThresholdChange]]:
    """Thresholds of both components over time, the predictor's in the unit of power.

    Args:
        store: Store of events and versions.
        entity: The entity; its autoencoder may be the zone's.
        deployed: The deployed versions.
    """
    events = store.events(entity=entity.id, shared=True, kinds=KINDS, limit=MOST_EVENTS)
    steps: dict[ComponentName, list[ThresholdChange]] = {"autoencoder": [], "predictor": []}
    for event in reversed(events):
        component: ComponentName = "predictor" if _is_predictor(event) else "autoencoder"
        if not steps[component]:
            steps[component] += _of_version(store, event.details.get("before"))
        steps[component] += _thresholds_after(store, event)
    for component, version in deployed.items():
        steps[component] = steps[component] or list(_of_version(store, version))
    return steps


def _is_predictor(event: ServiceEvent) -> bool:
    return str(event.details.get("after")).startswith("predictor:")


def _thresholds_after(store: Store, event: ServiceEvent) -> Iterator[ThresholdChange]:
    """The threshold after a change."""
    if event.kind == "update":
        value = event.details.get("threshold_after")
        if value is not None and math.isfinite(value):
            yield ThresholdChange(event.time, float(value))
    else:
        for step in _of_version(store, event.details.get("after")):
            yield step._replace(time=event.time)


def _of_version(store: Store, version: str | None) -> Iterator[ThresholdChange]:
    found = None if version is None else store.version(version)
    if found is not None and math.isfinite(found.threshold):
        yield ThresholdChange(found.time, found.threshold)
