"""What a stopped service has left behind, as far as it must not depend on kills and timing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from clearwatt.clear.forecaster import ClearForecaster
from clearwatt.files import digest_of, load_state
from clearwatt.service.files import Checkpoints, ModelFiles
from clearwatt.service.folders import DiskFolders, StoredFolders
from clearwatt.service.records import Entry, ServiceEvent, WeatherIssue
from clearwatt.service.store import Store, open_store

TIMING = {
    *("started", "stopped", "learner restarted", "fallback", "full", "damaged", "unavailable"),
    "prior",  # trained in the background, now and then
}
"""Events of the service, not of what it has learned."""


def remains(
    data_dir: Path, database: str | None = None, *, cluster: bool = False
) -> dict[str, Any]:
    """Readings, journals, events, versions, statuses and the state of all models.

    The models of a cluster are in its database.
    """
    with closing(open_store(database or data_dir / "clearwatt.db")) as store:
        folders = StoredFolders(store) if cluster else DiskFolders(data_dir)
        return {
            "readings": {entity.id: _readings(store, entity.number) for entity in store.entities()},
            "journals": {zone.id: list(_journal(store, zone.id)) for zone in store.zones()},
            "events": dict(sorted(map(_event, _events(store)))),
            "versions": _versions(store, ModelFiles(folders)),
            "statuses": store.statuses(),
            "signals": {zone.id: _signals(store, zone.id) for zone in store.zones()},
            "deployed": {zone.id: store.deployed(zone.id) for zone in store.zones()},
            "states": {zone.id: _state(Checkpoints(folders), zone.id) for zone in store.zones()},
        }


def _readings(store: Store, entity: int) -> list[tuple[int, str, int]]:
    found = store.readings(entity, start=0, end=2**40)
    times, flags = found.times.tolist(), found.flags.tolist()
    return list(zip(times, map(repr, found.values.tolist()), flags, strict=True))


def _journal(store: Store, zone: str) -> Iterator[tuple[Any, ...]]:
    after = 0
    while entries := store.journal(zone, after=after):
        yield from ((entry.seq, *_content(entry)) for entry in entries)
        after = entries[-1].seq


def _content(entry: Entry) -> tuple[Any, ...]:
    content = entry.content
    if isinstance(content, np.ndarray):
        return ("readings", content.tobytes())
    if isinstance(content, WeatherIssue):
        return ("weather", content.issued_at, content.times.tobytes(), content.values.tobytes())
    return (content.kind, content.entity, dict(content.arguments), content.actor)


def _events(store: Store) -> Iterator[ServiceEvent]:
    after = 0
    while page := store.events(after=after, limit=1000):
        yield from (event for event in page if event.kind not in TIMING)
        after = page[-1].seq


def _event(event: ServiceEvent) -> tuple[str, tuple[Any, ...]]:
    details = {name: value for name, value in event.details.items() if name != "seconds"}
    return event.key, (event.kind, event.zone, event.entity, event.time, event.actor, details)


def _versions(store: Store, files: ModelFiles) -> dict[str, tuple[Any, ...]]:
    found = {}
    for version in store.versions():
        weights = ""
        if version.status == "deployed":  # others are removed in time
            saved = files.read(version.path)
            weights = digest_of(saved.values, saved.tensors)
        facts = version.status, version.time, version.threshold, version.event, weights
        found[version.id] = facts
    return found


def _signals(store: Store, zone: str) -> list[tuple[int, bytes]]:
    return [(each.day, each.content) for each in store.signals(zone, start=0, end=2**40)]


def _state(checkpoints: Checkpoints, zone: str) -> dict[str, str]:
    """The newest checkpoint: all that a zone needs to go on (how far it is, its status tells)."""
    with checkpoints.open(next(checkpoints.newest(zone))) as folder:
        saved = load_state(folder / "zone")
        values = {name: value for name, value in saved.values.items() if name != "position"}
        return {"zone": digest_of(values, saved.tensors), "models": _models(folder)}


def _models(checkpoint: Path) -> str:
    if (checkpoint / "clear").exists():
        return ClearForecaster.load(checkpoint / "clear").digest()
    saved = load_state(checkpoint / "adaptive")
    return digest_of(saved.values, saved.tensors)


def check_same(found: dict[str, Any], expected: dict[str, Any]) -> None:
    """Compare part by part; a difference is reported with its part and the entries that differ."""
    for part, content in expected.items():
        names = sorted(found[part].keys() | content.keys())
        differ = {name for name in names if found[part].get(name) != content.get(name)}
        assert not differ, f"{part}: {[(name, found[part].get(name)) for name in differ]}"
