"""Commands of a person, appended to the journal of their zone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from clearwatt.service.api.context import AppContext
from clearwatt.service.api.schemas.base import Accepted
from clearwatt.service.api.schemas.commands import ReadingKey
from clearwatt.service.api.security.auth import Caller
from clearwatt.service.records import Command, CommandKind, Flag, StoredVersion, VersionStatus
from clearwatt.service.registry import UnknownIdError
from clearwatt.service.store import ConflictError
from clearwatt.service.times import text


def command_zone(
    app: AppContext, caller: Caller, kind: CommandKind, *, zone: str, arguments: Mapping[str, Any]
) -> Accepted:
    """Add a command for a whole zone."""
    return _add_command(app, caller, kind, zone=app.registry.zone(zone).id, arguments=arguments)


def command_entity(
    app: AppContext, caller: Caller, kind: CommandKind, *, entity: str, arguments: Mapping[str, Any]
) -> Accepted:
    """Add a command for one entity."""
    record = app.registry.entity(entity)
    return _add_command(app, caller, kind, zone=record.zone, entity=record.id, arguments=arguments)


def command_version(
    app: AppContext, caller: Caller, kind: CommandKind, *, version: str
) -> Accepted:
    """Add a command to deploy a version, or to reject one that awaits approval."""
    record = find_version(app, version)
    wrong: dict[CommandKind, Sequence[VersionStatus]] = {
        "activate": ("deployed", "damaged"),
        "reject": ("deployed", "superseded", "refused", "damaged"),
    }
    if record.status in wrong[kind]:
        raise ConflictError(f"{version} is {record.status}; {kind} needs another version")
    arguments = {"version": version}
    return _add_command(
        app, caller, kind, zone=record.zone, entity=record.entity, arguments=arguments
    )


def command_readings(
    app: AppContext, caller: Caller, kind: CommandKind, *, items: Sequence[ReadingKey], reason: str
) -> list[Accepted]:
    """Add commands to release or drop quarantined readings: one per entity, all checked first."""
    times: defaultdict[str, set[int]] = defaultdict(set)
    for item in items:
        _check_quarantined(app, item)
        times[item.entity].add(item.time)
    return [
        command_entity(
            app, caller, kind, entity=entity, arguments={"times": sorted(own), "reason": reason}
        )
        for entity, own in times.items()
    ]


def find_version(app: AppContext, version: str) -> StoredVersion:
    """A version by id, or UnknownIdError."""
    found = app.store.version(version)
    if found is None:
        raise UnknownIdError(f"model {version!r} is unknown; GET /v1/models lists those there are")
    return found


def _check_quarantined(app: AppContext, item: ReadingKey) -> None:
    number = app.registry.entity(item.entity).number
    found = app.store.readings(number, start=item.time, end=item.time + 1)
    if not len(found.flags) or found.flags[0] != Flag.QUARANTINED:
        raise ConflictError(
            f"{item.entity} has no quarantined reading at {text(item.time)}; GET /v1/quarantine "
            "lists those there are"
        )


def _add_command(
    app: AppContext,
    caller: Caller,
    kind: CommandKind,
    *,
    zone: str,
    entity: str | None = None,
    arguments: Mapping[str, Any],
) -> Accepted:
    command = Command(kind, zone, entity, dict(arguments), caller.name, app.clock())
    number = app.store.add_command(command)
    app.learner.wake()
    return Accepted(
        command=number, zone=zone, entity=entity, kind=kind, event=f"command:{zone}:{number}"
    )
