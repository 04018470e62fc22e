"""Changes of what is registered: names, and deletion."""

from __future__ import annotations

import time

from clearwatt.service.api.context import AppContext
from clearwatt.service.api.schemas.base import Accepted
from clearwatt.service.api.security.auth import Caller
from clearwatt.service.records import RegisteredEntity, ServiceEvent


def rename_zone(app: AppContext, caller: Caller, zone: str, name: str) -> None:
    """Change the name of a zone and record it."""
    before = app.registry.rename_zone(zone, name)
    _record_name(app, caller, f"zone {zone}", before, name, zone=zone)


def rename_entity(app: AppContext, caller: Caller, entity: str, name: str) -> None:
    """Change the name of an entity and record it."""
    before = app.registry.rename_entity(entity, name)
    zone = app.registry.entity(entity).zone
    _record_name(app, caller, entity, before, name, zone=zone, entity=entity)


def delete_zone(app: AppContext, caller: Caller, zone: str) -> list[RegisteredEntity]:
    """Delete a zone with its entities; returns these."""
    members = app.registry.remove_zone(zone, actor=caller.name, at=app.clock())
    app.forecaster.forget_zone(zone)
    app.learner.wake()
    app.feed.announce(zone)
    return members


def delete_entity(app: AppContext, caller: Caller, entity: str) -> Accepted:
    """Delete an entity; the learner forgets it in the order of the journal."""
    found, number = app.registry.remove_entity(entity, actor=caller.name, at=app.clock())
    app.learner.wake()
    app.feed.announce(found.zone)
    return Accepted(
        command=number,
        zone=found.zone,
        entity=found.id,
        kind="delete",
        event=f"command:{found.zone}:{number}",
    )


def _record_name(
    app: AppContext,
    caller: Caller,
    subject: str,
    before: str,
    after: str,
    *,
    zone: str,
    entity: str | None = None,
) -> None:
    app.store.add_event(
        ServiceEvent(
            key=f"rename:{entity or zone}:{time.time_ns()}",
            kind="rename",
            message=f"{subject} is called {after!r} now, before {before!r}",
            at=app.clock(),
            actor=caller.name,
            zone=zone,
            entity=entity,
            details={"before": before, "after": after},
        )
    )
    app.feed.announce(zone)
