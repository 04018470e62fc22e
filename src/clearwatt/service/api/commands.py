"""Commands of a person, put into the journal of the zone they are for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from clearwatt.service.api.context import Parts
from clearwatt.service.api.schemas.base import Accepted
from clearwatt.service.api.schemas.commands import Item
from clearwatt.service.api.security.auth import Caller
from clearwatt.service.records import Command, CommandKind, Flag, Version, VersionStatus
from clearwatt.service.registry import UnknownIdError
from clearwatt.service.store.base import ConflictError
from clearwatt.service.times import text


def order_zone(
    parts: Parts, by: Caller, kind: CommandKind, *, zone: str, arguments: Mapping[str, Any]
) -> Accepted:
    """Tell a whole zone to do something."""
    return _order(parts, by, kind, zone=parts.registry.zone(zone).id, arguments=arguments)


def order_entity(
    parts: Parts, by: Caller, kind: CommandKind, *, entity: str, arguments: Mapping[str, Any]
) -> Accepted:
    """Tell one entity to do something."""
    known = parts.registry.entity(entity)
    return _order(parts, by, kind, zone=known.zone, entity=known.id, arguments=arguments)


def order_version(parts: Parts, by: Caller, kind: CommandKind, *, version: str) -> Accepted:
    """Put a version into service, or reject one that awaits approval."""
    known = known_version(parts, version)
    wrong: dict[CommandKind, Sequence[VersionStatus]] = {
        "activate": ("deployed", "damaged"),
        "reject": ("deployed", "superseded", "refused", "damaged"),
    }
    if known.status in wrong[kind]:
        raise ConflictError(f"{version} is {known.status}; {kind} needs another version")
    arguments = {"version": version}
    return _order(parts, by, kind, zone=known.zone, entity=known.entity, arguments=arguments)


def order_readings(
    parts: Parts, by: Caller, kind: CommandKind, *, items: Sequence[Item], reason: str
) -> list[Accepted]:
    """Release or drop quarantined readings: one command per entity, all checked first."""
    times: defaultdict[str, set[int]] = defaultdict(set)
    for item in items:
        _check_quarantined(parts, item)
        times[item.entity].add(item.time)
    return [
        order_entity(
            parts, by, kind, entity=entity, arguments={"times": sorted(own), "reason": reason}
        )
        for entity, own in times.items()
    ]


def known_version(parts: Parts, version: str) -> Version:
    """A version by id, or UnknownIdError."""
    found = parts.store.version(version)
    if found is None:
        raise UnknownIdError(f"model {version!r} is unknown; GET /v1/models lists those there are")
    return found


def _check_quarantined(parts: Parts, item: Item) -> None:
    number = parts.registry.entity(item.entity).number
    found = parts.store.readings(number, start=item.time, end=item.time + 1)
    if not len(found.flags) or found.flags[0] != Flag.QUARANTINED:
        raise ConflictError(
            f"{item.entity} has no quarantined reading at {text(item.time)}; GET /v1/quarantine "
            "lists those there are"
        )


def _order(
    parts: Parts,
    by: Caller,
    kind: CommandKind,
    *,
    zone: str,
    entity: str | None = None,
    arguments: Mapping[str, Any],
) -> Accepted:
    command = Command(kind, zone, entity, dict(arguments), by.name, parts.clock())
    number = parts.store.add_command(command)
    parts.learner.wake()
    return Accepted(
        command=number, zone=zone, entity=entity, kind=kind, event=f"command:{zone}:{number}"
    )
