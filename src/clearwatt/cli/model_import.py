"""Import of a finished experiment into a service: its models, history and settings."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from clearwatt.cli.finished_run import FinishedRun, WarmZone
from clearwatt.service.client.deliveries import (
    entities_of,
    readings_between,
    unix_seconds,
    weather_issues,
    zones_of,
)
from clearwatt.service.learner.apply.imported_models import save_imported_model
from clearwatt.service.records import Command, RegisteredEntity
from clearwatt.service.settings import ZoneSettings
from clearwatt.service.store import Store

ACTOR = "clearwatt serve --from"
IMPORT_FOLDER = "brought"
STEPS_AT_ONCE = 500


def import_run(
    run: FinishedRun, store: Store, data_dir: Path, *, defaults: Mapping[str, Any]
) -> list[str]:
    """Register a run's zones, store their history and request the deployment of its models.

    Zones that were imported before stay as they are, so a service can be restarted with the same
    command.

    Args:
        run: the finished run.
        store: store of the service, which is not running yet.
        data_dir: data directory of the service.
        defaults: zone settings that the run does not define.

    Returns:
        The names of the zones imported now.
    """
    new = []
    for zone in run.zones:
        folder = f"{IMPORT_FOLDER}/{run.identity}/{quote(zone.name, safe='')}"
        if not _is_imported(store, zone.name, folder):
            _save_models(zone, data_dir / folder)
            _register_zone(zone, store, {**defaults, **run.settings(zone)})
            _add_command(zone, store, folder)
            new.append(zone.name)
    return new


def _is_imported(store: Store, zone: str, folder: str) -> bool:
    """Whether the journal of a zone contains the command; it is among its first entries."""
    after = 0
    while entries := store.journal(zone, after=after, limit=200):
        for entry in entries:
            content = entry.content
            if isinstance(content, Command) and content.kind == "adopt":
                return bool(content.arguments.get("folder") == folder)
        after = entries[-1].seq
    return False


def _save_models(zone: WarmZone, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    zone.scaling.save(folder / "scaling.json")
    save_imported_model(folder, zone.autoencoder)
    for name, model in zone.predictors.items():
        save_imported_model(folder, model, entity=name)


def _register_zone(zone: WarmZone, store: Store, settings: Mapping[str, Any]) -> None:
    """Register the zone and its entities, and store the weather and readings of the warm-up."""
    plain = ZoneSettings.read(dict(settings)).plain()
    for each in zones_of(zone.history, plain):
        store.add_zone(each)
    entities = store.add_entities(entities_of(zone.history))
    now, end = time.time(), int(unix_seconds(zone.history.times)[-1])
    for issue in weather_issues(zone.history):
        if issue.issued_at <= end:
            store.add_weather(issue, at=now)
    _add_readings(zone, store, entities, at=now)


def _add_readings(
    zone: WarmZone, store: Store, entities: Sequence[RegisteredEntity], *, at: float
) -> None:
    by_name = {entity.id: entity.number for entity in entities}
    numbers = np.array([by_name[name] for name in zone.history.names], np.int32)
    for first in range(0, len(zone.history.times), STEPS_AT_ONCE):
        readings = readings_between(zone.history, first, first + STEPS_AT_ONCE)
        readings["entity"] = numbers[readings["entity"]]
        store.add_readings(readings, at=at)


def _add_command(zone: WarmZone, store: Store, folder: str) -> None:
    end = int(unix_seconds(zone.history.times)[-1])
    arguments = {"folder": folder, "end": end}
    store.add_command(Command("adopt", zone.name, None, arguments, ACTOR, time.time()))
