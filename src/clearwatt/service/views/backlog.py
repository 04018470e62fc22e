"""What was sent to a zone and what its learner has processed of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from clearwatt.service.learner.apply.watermark import find_watermark
from clearwatt.service.records import RegisteredEntity, Zone
from clearwatt.service.settings import ZoneSettings
from clearwatt.service.status import ZoneStatus
from clearwatt.service.store import Store

NOTABLE = 3600
"""Seconds of readings that the learner may be behind without being mentioned."""


@dataclass(frozen=True, slots=True)
class Backlog:
    """A zone whose learner is behind.

    Args:
        zone: The zone.
        entries: Journal entries not processed yet.
        sent: Time of the newest reading sent.
        learned: Time of the newest reading processed; None: none yet.
    """

    zone: str
    entries: int
    sent: int
    learned: int | None


def newest_sent(
    store: Store, zone: Zone, entities: Sequence[RegisteredEntity], status: ZoneStatus
) -> int | None:
    """Time of the newest reading of a zone, processed or not; None without any.

    Single readings dated ahead of all others do not count, as for the learner.
    """
    found = store.newest([entity.number for entity in entities])
    if not found:
        return status.watermark
    numbers = list(found)

    def count(place: int, after: int, until: int) -> int:
        return len(store.readings(numbers[place], start=after + 1, end=until + 1).times)

    lateness = ZoneSettings.read(dict(status.settings or zone.settings)).lateness
    times = np.array(list(found.values()), np.int64)
    newest = find_watermark(times, count, step=zone.step, lateness=lateness)
    return newest if status.watermark is None else max(newest, status.watermark)


def find_backlog(
    store: Store, zone: Zone, entities: Sequence[RegisteredEntity], *, now: float
) -> Backlog | None:
    """The backlog of a zone; None if its learner is at most `NOTABLE` seconds behind."""
    head, (position, _) = store.heads().get(zone.id, 0), store.positions().get(zone.id, (0, 0))
    if position >= head:
        return None
    status = store.status(zone.id)
    learned = status.watermark
    if learned is not None and learned >= now - NOTABLE:
        return None
    sent = newest_sent(store, zone, entities, status)
    if sent is None or (learned is not None and sent - learned <= NOTABLE):
        return None
    return Backlog(zone.id, head - position, sent, learned)
