"""Every entity at a glance, with what needs somebody: assembled once, and again as zones move on.

The statuses of a hundred zones are megabytes of JSON. Only those of zones that were committed since
they were last looked at are read.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from threading import Lock
from typing import Literal, NamedTuple

from clearwatt.service.learner.supervisor import Health
from clearwatt.service.records import Entity, Zone
from clearwatt.service.registry import Registry, Roster
from clearwatt.service.status import EntityStatus, ZoneStatus
from clearwatt.service.store import Store

DAY = 86_400
WORSE = 2.0
"""An error of the last day beyond so many times that of the week is worth a look."""
ENOUGH = 0.25
"""The part of a day that must have been measured before its error says anything."""

AlertKind = Literal["degraded", "awaiting approval", "quarantine"]
SEVERITY: dict[AlertKind, int] = {"degraded": 3, "awaiting approval": 2, "quarantine": 1}

FleetState = Literal[
    "degraded", "awaiting approval", "updating", "warming up", "learning", "held", "waiting"
]


class Alert(NamedTuple):
    """Something that needs a person, in words."""

    kind: AlertKind
    message: str


@dataclass(frozen=True, slots=True)
class Member:
    """An entity, its status, and what is wrong with it.

    ``sought`` is what a search looks through.
    """

    entity: Entity
    status: EntityStatus
    state: FleetState
    alerts: tuple[Alert, ...]
    sought: str

    @property
    def severity(self) -> int:
        """How much it needs somebody."""
        return max((SEVERITY[alert.kind] for alert in self.alerts), default=0)

    @property
    def trend(self) -> float | None:
        """The live error of the last day by that of the week; None where there is none."""
        day, week = self.status.live.rmse_day, self.status.live.rmse_week
        return None if day is None or not week else day / week


@dataclass(frozen=True, slots=True)
class ZoneView:
    """A zone, its status (with the learner's error, if it reports one) and its members."""

    zone: Zone
    status: ZoneStatus
    members: tuple[Member, ...]


class _Mark(NamedTuple):
    """What a zone's members follow from; while it stays the same, so do they."""

    position: tuple[int, int] | None
    trouble: str | None
    updating: bool


class Overview:
    """The members of every zone; safe to ask from several threads."""

    def __init__(self, store: Store, registry: Registry) -> None:
        self._store, self._registry = store, registry
        self._lock = Lock()
        self._roster: Roster | None = None
        self._views: dict[str, tuple[_Mark, ZoneView]] = {}

    def zones(self, health: Health) -> list[ZoneView]:
        """Every zone as of now; ``health`` is the learner's, which knows of those in trouble."""
        with self._lock:
            self._bring_up_to_date(health)
            return [view for _, view in self._views.values()]

    def members(self, health: Health) -> list[Member]:
        """Everybody, in every zone."""
        return [member for view in self.zones(health) for member in view.members]

    def _bring_up_to_date(self, health: Health) -> None:
        roster, positions = self._registry.roster, self._store.positions()
        if roster is not self._roster:
            self._views, self._roster = {}, roster
        marks = {
            zone: _Mark(positions.get(zone), health.degraded.get(zone), zone in health.updating)
            for zone in roster.zones
        }
        known = {zone: mark for zone, (mark, _) in self._views.items()}
        moved = [zone for zone, mark in marks.items() if known.get(zone) != mark]
        if not moved:
            return
        statuses, grouped = self._store.statuses(moved), _by_zone(roster, set(moved))
        for zone in moved:
            view = view_of(roster.zones[zone], grouped[zone], statuses.get(zone), health=health)
            self._views[zone] = marks[zone], view


def _by_zone(roster: Roster, zones: set[str]) -> dict[str, list[Entity]]:
    grouped: dict[str, list[Entity]] = {zone: [] for zone in zones}
    for entity in roster.entities.values():
        if entity.zone in zones:
            grouped[entity.zone].append(entity)
    return grouped


def view_of(
    zone: Zone, entities: list[Entity], status: ZoneStatus | None, *, health: Health
) -> ZoneView:
    """A zone by its status and what the learner says of it."""
    status = status or ZoneStatus(zone.id)
    error = health.degraded.get(zone.id) or status.error
    trouble = f"zone {zone.id} does not get on: {error}" if error else None
    silent = _silence(status)
    members = []
    for entity in entities:
        own = status.entity(entity.id)
        alerts = tuple(_alerts(own, zone, trouble=trouble, silent=silent))
        state = _state(own, alerts, updating=zone.id in health.updating)
        sought = f"{entity.id}\n{entity.name}".casefold()
        members.append(Member(entity, own, state, alerts, sought))
    return ZoneView(zone, replace(status, error=error), tuple(members))


def _state(own: EntityStatus, alerts: tuple[Alert, ...], *, updating: bool) -> FleetState:
    if any(alert.kind == "degraded" for alert in alerts):
        return "degraded"
    return "updating" if updating and own.state == "learning" else own.state


def _alerts(own: EntityStatus, zone: Zone, *, trouble: str | None, silent: int) -> Iterator[Alert]:
    if trouble:
        yield Alert("degraded", trouble)
    if worse := _worse(own, zone):
        yield Alert("degraded", worse)
    if silent and _is_silent(own, silent):
        days = "day" if silent == 1 else f"{silent} days"
        yield Alert("degraded", f"no usable reading in the last {days} learned from, others report")
    if own.candidate:
        yield Alert("awaiting approval", f"{own.candidate} awaits approval")
    if count := own.quarantined:
        yield Alert("quarantine", f"{count:,} reading{'s' * (count > 1)} in quarantine")


def _worse(own: EntityStatus, zone: Zone) -> str | None:
    day, week = own.live.rmse_day, own.live.rmse_week
    if day is None or not week or own.live.n_day < ENOUGH * DAY / zone.step:
        return None
    times = day / week
    return f"the error of the last day is {times:.1f} times the week's" if times > WORSE else None


def _silence(status: ZoneStatus) -> int:
    """Days at the end of the record that an entity may not be without any reading; 0: no matter.

    A row without a reading is closed only one lateness after it, so one more makes two. Where
    nobody reports, the zone is quiet and not an entity of it.
    """
    lateness = status.settings.get("lateness", DAY)
    days = max(1, math.ceil(lateness / DAY))
    entities = status.entities.values()
    return days if any(not _is_silent(own, days) for own in entities if own.spark) else 0


def _is_silent(own: EntityStatus, days: int) -> bool:
    return len(own.spark) >= days and own.spark[-days:].count(None) == days
