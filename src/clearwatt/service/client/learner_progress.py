"""How far the learner of a service is with what was sent, and the wait until it is done."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from clearwatt.errors import DataError
from clearwatt.service.api.schemas.zones import ZoneAnswer
from clearwatt.service.client.calls import Client
from clearwatt.service.times import seconds

POLL = 0.5
"""Seconds between two queries."""
SILENT = 60.0
"""Seconds without a heartbeat after which the learner counts as stuck."""


@dataclass(frozen=True)
class LearnerProgress:
    """Progress of the learner in some zones.

    Args:
        time: Newest reading learned from in the slowest zone; None: one has learned none yet.
        behind: Journal entries that were sent and are not processed yet.
        positions: The last entry processed in each zone.
        errors: Zones whose learning fails now, with the reason.
    """

    time: int | None
    behind: int
    positions: Mapping[str, int]
    errors: Mapping[str, str]


def learner_progress(
    client: Client, zones: Sequence[str], heads: Mapping[str, int] | None = None
) -> LearnerProgress:
    """Progress now; ``heads`` are the last entries to process, by default those of the journals."""
    found = _zones(client, zones)
    marks = [zone.watermark for zone in found]
    learned = [seconds(mark) for mark in marks if mark is not None]
    last = heads or {zone.id: zone.journal for zone in found}
    return LearnerProgress(
        time=min(learned) if learned and len(learned) == len(marks) else None,
        behind=sum(max(0, last[zone.id] - zone.position) for zone in found),
        positions={zone.id: zone.position for zone in found},
        errors={zone.id: zone.error for zone in found if zone.error is not None},
    )


def wait_until_learned(
    client: Client, zones: Sequence[str], *, patience: float
) -> Iterator[LearnerProgress]:
    """Yield the progress until all that has been sent by now is learned.

    Raises:
        DataError: learning fails, and there was no progress for ``patience`` seconds.
    """
    heads = {zone.id: zone.journal for zone in _zones(client, zones)}
    positions: Mapping[str, int] = {}
    moved_at = time.monotonic()
    while True:
        now = learner_progress(client, zones, heads)
        yield now
        if not now.behind:
            return
        if now.positions != positions:
            positions, moved_at = now.positions, time.monotonic()
        elif time.monotonic() - moved_at > patience and (why := find_trouble(client, now)):
            raise DataError(
                f"{now.behind} journal entries are sent but not learned, and nothing moves: {why}"
            )
        time.sleep(POLL)


def find_trouble(client: Client, now: LearnerProgress) -> str | None:
    """Why learning does not go on; None: it does, or it trains."""
    if now.errors:
        return "; ".join(f"zone {zone} does not learn: {why}" for zone, why in now.errors.items())
    learner = client.status().learner
    if not learner["alive"]:
        return "the learner's process is not running"
    if learner["outage"] is not None:
        return f"the learner cannot write: the store is {learner['outage']}"
    age = learner["heartbeat_age"]
    if age is not None and age > SILENT:
        return f"the learner has not been heard of for {age:.0f} s"
    return None


def _zones(client: Client, zones: Sequence[str]) -> list[ZoneAnswer]:
    registered = {zone.id: zone for zone in client.zones().zones}
    for zone in zones:
        if zone not in registered:
            raise DataError(f"the service no longer has zone {zone!r}; it was deleted meanwhile")
    return [registered[zone] for zone in zones]
