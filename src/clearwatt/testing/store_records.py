"""Records that the checks of a store write and read back."""

from __future__ import annotations

from uuid import uuid4

import numpy as np
import numpy.typing as npt
from safetensors.numpy import save

from clearwatt.service.records import (
    READING,
    Flag,
    Outcome,
    Readings,
    RegisteredEntity,
    ServiceEvent,
    SignalDay,
    StoredVersion,
    Verdict,
    WeatherIssue,
    Zone,
)
from clearwatt.service.status import (
    ComponentStatus,
    EntityStatus,
    ExcludedWindow,
    ReconstructionStatus,
    ZoneStatus,
)
from clearwatt.service.store import Store

START = 1_700_006_400
"""A midnight."""
STEP = 900


def readings(numbers: list[int], *, times: list[int], values: list[float]) -> Readings:
    """Readings of entities at steps after `START`."""
    batch = np.empty(len(numbers), dtype=READING)
    batch["entity"], batch["value"] = numbers, values
    batch["time"] = START + STEP * np.array(times)
    return batch


def weather(zone: str, *, issued: int, first: int, fill: float) -> WeatherIssue:
    """An issue of four steps and two variables."""
    times = START + STEP * np.arange(first, first + 4, dtype=np.int64)
    return WeatherIssue(zone, START + issued, times, np.full((4, 2), fill, dtype=np.float32))


def register(store: Store) -> tuple[Zone, list[RegisteredEntity]]:
    """Register a new zone with two entities."""
    name = uuid4().hex
    zone = Zone(name, STEP, ("wind", "sun"), "Europe/Berlin", "Zone", {"alpha": 1.5})
    assert store.add_zone(zone) is True, "a new zone is not new"
    found = store.add_entities(
        [
            RegisteredEntity(f"{name}-a", name, "generator", 12.5, "kW", "Park", {"subtype": "pv"}),
            RegisteredEntity(f"{name}-b", name, "consumer"),
        ]
    )
    assert 0 <= found[0].number < found[1].number, f"numbers do not ascend: {found}"
    return zone, found


def make_version(zone: Zone, entity: RegisteredEntity, number: int) -> StoredVersion:
    """A deployed version of an entity's predictor."""
    identity = f"predictor:{entity.id}:{number}"
    path = f"models/{number}"
    return StoredVersion(
        identity, "predictor", zone.id, entity.id, number, "deployed", 1.5, START, 0.25, path
    )


def make_status(zone: Zone, entity: RegisteredEntity, version: StoredVersion) -> ZoneStatus:
    """The status of a zone in which one entity learns."""
    window = ExcludedWindow(0, STEP, "meter replaced", "Ada")
    status = EntityStatus("learning", version.id, spark=(1.0, None, 0.5), exclusions=(window,))
    shared = ReconstructionStatus(ComponentStatus(0.5, 3, 4, 60, 1), None)
    return ZoneStatus(
        zone.id,
        version.number,
        2,
        "learning",
        reconstruction=shared,
        entities={entity.id: status, "other": EntityStatus()},
    )


def make_outcome(
    zone: Zone, entity: RegisteredEntity, version: StoredVersion, *more: StoredVersion
) -> Outcome:
    """The outcome of an update: event, versions, verdicts and signals."""
    key = f"update:{version.id}"
    return Outcome(
        status=make_status(zone, entity, version),
        events=(ServiceEvent(key, "update", "it learned", 1.0, zone=zone.id, entity=entity.id),),
        versions=(version, *more),
        verdicts=(
            Verdict(entity.number, START, Flag.QUARANTINED, "stuck"),
            Verdict(entity.number, START + 50 * STEP, Flag.LATE),
        ),
        signals=(make_signals(zone, entity, version.number),),
    )


def make_signals(zone: Zone, entity: RegisteredEntity, value: float) -> SignalDay:
    """A signal day with two forecasts of an entity, and of one that the store does not have."""
    content: dict[str, npt.NDArray[np.generic]] = {
        "times": START + STEP * np.arange(2),
        "reconstruction": np.zeros(2, np.float32),
        "forecast": np.full((2, 2), value, np.float32),
        "entities": np.array([entity.number, 10**9]),
    }
    return SignalDay(zone.id, START, save(content))
