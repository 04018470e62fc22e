"""Which versions forecast an entity, now and at the time of an event."""

from __future__ import annotations

from collections.abc import Sequence

from clearwatt.service.forecasting.library import Versions
from clearwatt.service.records import RegisteredEntity, ServiceEvent
from clearwatt.service.store import Store
from clearwatt.service.views.thresholds import KINDS, MOST_EVENTS


def versions_before(
    store: Store, entity: RegisteredEntity, event: int, current: Versions
) -> Versions:
    """The versions that forecast an entity just before an event.

    Args:
        store: Store of events.
        entity: The entity.
        event: Number of the event.
        current: The versions in service now.
    """
    changes = store.events(entity=entity.id, shared=True, kinds=KINDS, limit=MOST_EVENTS)
    return Versions(
        _before(changes, event, "autoencoder", current.encoder),
        _before(changes, event, "predictor", current.predictor) or current.predictor,
    )


def with_version(versions: Versions, version: str) -> Versions:
    """The versions with another one of its component."""
    if version.startswith("predictor:"):
        return versions._replace(predictor=version)
    return versions._replace(encoder=version)


def _before(
    changes: Sequence[ServiceEvent], event: int, component: str, current: str | None
) -> str | None:
    """Changes are newest first: the last one before the event counts, else the first after it."""
    if current is None:
        return None
    own = [each for each in changes if str(each.details.get("after")).startswith(f"{component}:")]
    for each in own:
        if each.seq < event:
            return str(each.details["after"])
    return own[-1].details.get("before") or current if own else current
