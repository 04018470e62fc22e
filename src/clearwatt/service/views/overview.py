"""Overview of all entities with their state and alerts, updated as zones change.

The statuses of a hundred zones are megabytes of JSON, so only those of zones that changed since the
last call are read.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from threading import Lock
from typing import Literal, NamedTuple

from clearwatt.service.learner.supervisor import Health
from clearwatt.service.records import RegisteredEntity, Zone
from clearwatt.service.registry import Registry, RegistrySnapshot
from clearwatt.service.status import EntityStatus, ZoneStatus
from clearwatt.service.store import Store
from clearwatt.service.views.accuracy import accuracy_warnings

DAY = 86_400
WORSE = 2.0
"""Ratio of the last day's error to the week's above which there is an alert."""
ENOUGH = 0.25
"""Share of a day's readings that its error needs to count."""

AlertKind = Literal["degraded", "suspected", "awaiting approval", "inaccurate", "quarantine"]
SEVERITY: dict[AlertKind, int] = {
    "degraded": 5,
    "suspected": 4,
    "awaiting approval": 3,
    "inaccurate": 2,
    "quarantine": 1,
}

FleetState = Literal[
    "degraded",
    "suspected",
    "standing still",
    "awaiting approval",
    "inaccurate",
    "updating",
    "warming up",
    "from the fleet",
    "learning",
    "held",
    "waiting",
]


class Alert(NamedTuple):
    """A condition that needs a person, with a message for the operator."""

    kind: AlertKind
    message: str


@dataclass(frozen=True, slots=True)
class EntityOverview:
    """An entity with its status and alerts; ``search_text`` is what a search matches."""

    entity: RegisteredEntity
    status: EntityStatus
    state: FleetState
    alerts: tuple[Alert, ...]
    search_text: str

    @property
    def severity(self) -> int:
        """Highest severity of the alerts; 0: none."""
        return max((SEVERITY[alert.kind] for alert in self.alerts), default=0)

    @property
    def trend(self) -> float | None:
        """Ratio of the live error of the last day to the week's; None: unknown."""
        day, week = self.status.live.rmse_day, self.status.live.rmse_week
        return None if day is None or not week else day / week

    @property
    def error_share(self) -> float | None:
        """Live error of the last day as a share of capacity; None: either is unknown."""
        day, capacity = self.status.live.rmse_day, self.entity.capacity
        return None if day is None or not capacity else day / capacity


@dataclass(frozen=True, slots=True)
class ZoneView:
    """A zone, its status (with the learner's error, if it reports one) and its members."""

    zone: Zone
    status: ZoneStatus
    members: tuple[EntityOverview, ...]


class _CacheKey(NamedTuple):
    """Everything that a zone's view depends on."""

    position: tuple[int, int] | None
    error: str | None
    updating: bool


class Overview:
    """Cached views of all zones; safe to use from several threads."""

    def __init__(self, store: Store, registry: Registry) -> None:
        self._store, self._registry = store, registry
        self._lock = Lock()
        self._snapshot: RegistrySnapshot | None = None
        self._views: dict[str, tuple[_CacheKey, ZoneView]] = {}

    def zones(self, health: Health) -> list[ZoneView]:
        """Views of all zones; ``health`` is the learner's, which reports zones with errors."""
        with self._lock:
            self._update(health)
            return [view for _, view in self._views.values()]

    def members(self, health: Health) -> list[EntityOverview]:
        """The entities of all zones."""
        return [member for view in self.zones(health) for member in view.members]

    def _update(self, health: Health) -> None:
        snapshot, positions = self._registry.snapshot, self._store.positions()
        if snapshot is not self._snapshot:
            self._views, self._snapshot = {}, snapshot
        keys = {
            zone: _CacheKey(positions.get(zone), health.degraded.get(zone), zone in health.updating)
            for zone in snapshot.zones
        }
        cached = {zone: key for zone, (key, _) in self._views.items()}
        changed = [zone for zone, key in keys.items() if cached.get(zone) != key]
        if not changed:
            return
        statuses, grouped = self._store.statuses(changed), _by_zone(snapshot, set(changed))
        for zone in changed:
            view = view_of(snapshot.zones[zone], grouped[zone], statuses.get(zone), health=health)
            self._views[zone] = keys[zone], view


def _by_zone(snapshot: RegistrySnapshot, zones: set[str]) -> dict[str, list[RegisteredEntity]]:
    grouped: dict[str, list[RegisteredEntity]] = {zone: [] for zone in zones}
    for entity in snapshot.entities.values():
        if entity.zone in zones:
            grouped[entity.zone].append(entity)
    return grouped


def view_of(
    zone: Zone, entities: list[RegisteredEntity], status: ZoneStatus | None, *, health: Health
) -> ZoneView:
    """The view of a zone, from its status and the learner's health."""
    status = status or ZoneStatus(zone.id)
    error = health.degraded.get(zone.id) or status.error
    quiet_days = _quiet_days(status)
    members = []
    for entity in entities:
        own = status.entity(entity.id, number=entity.number)
        alerts = tuple(_alerts(own, zone, error=error, quiet_days=quiet_days))
        state = _state(own, alerts, updating=zone.id in health.updating)
        search_text = f"{entity.id}\n{entity.name}".casefold()
        members.append(EntityOverview(entity, own, state, alerts, search_text))
    return ZoneView(zone, replace(status, error=error), tuple(members))


def _state(own: EntityStatus, alerts: tuple[Alert, ...], *, updating: bool) -> FleetState:
    kinds = {alert.kind for alert in alerts}
    if "degraded" in kinds:
        return "degraded"
    if own.state not in ("learning", "from the fleet"):
        return own.state
    if "inaccurate" in kinds:
        return "inaccurate"
    return "updating" if updating and own.state == "learning" else own.state


def _alerts(
    own: EntityStatus, zone: Zone, *, error: str | None, quiet_days: int
) -> Iterator[Alert]:
    if error:
        yield Alert(
            "degraded",
            f"zone {zone.id} cannot learn: {error}; forecasts continue, learning is retried",
        )
    if own.suspicion:
        yield Alert(
            "suspected",
            f"{own.suspicion.reason} It learns nothing until they are as expected again, or until "
            "a person confirms them",
        )
        return  # it explains all else
    if own.standing_since is not None:
        return  # errors and missing power are those of the standstill
    if ratio := _error_increase(own, zone):
        yield Alert(
            "degraded",
            f"the error of the last day is {ratio:.1f} times the week's; check the readings",
        )
    if quiet_days and _is_quiet(own, quiet_days):
        days = "day" if quiet_days == 1 else f"{quiet_days} days"
        yield Alert(
            "degraded",
            f"no usable reading in the last {days} of learning, while others report; check its "
            "meter",
        )
    if own.candidate:
        yield Alert(
            "awaiting approval",
            f"{own.candidate} awaits approval; until then the deployed model forecasts",
        )
    for message in accuracy_warnings(own):
        yield Alert("inaccurate", message)
    if count := own.quarantined:
        yield Alert(
            "quarantine",
            f"{count:,} reading{'s' * (count > 1)} in quarantine, not learned from; release or "
            f"drop {'them' if count > 1 else 'it'}",
        )


def _error_increase(own: EntityStatus, zone: Zone) -> float | None:
    """Ratio of the last day's error to the week's, if it is above WORSE."""
    day, week = own.live.rmse_day, own.live.rmse_week
    if day is None or not week or own.live.n_day < ENOUGH * DAY / zone.step:
        return None
    ratio = day / week
    return ratio if ratio > WORSE else None


def _quiet_days(status: ZoneStatus) -> int:
    """Days without any reading after which an entity has an alert; 0: no entity has one.

    A row without a reading is closed only after the lateness, so at least that many days must be
    empty. If no entity of the zone reports, none has an alert.
    """
    lateness = status.settings.get("lateness", DAY)
    days = max(1, math.ceil(lateness / DAY))
    entities = status.entities.values()
    return days if any(not _is_quiet(own, days) for own in entities if own.spark) else 0


def _is_quiet(own: EntityStatus, days: int) -> bool:
    if own.state == "from the fleet" and not own.judged:
        return False  # it may not be in operation yet
    return len(own.spark) >= days and own.spark[-days:].count(None) == days
