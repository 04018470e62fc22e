"""Intake of a batch of readings: new ones, duplicates and corrections."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from clearwatt.service.records import Readings, Receipt, ServiceEvent
from clearwatt.service.store import events, journal, revisions
from clearwatt.service.store.content import dump_readings
from clearwatt.service.store.errors import UnregisteredEntityError
from clearwatt.service.store.readings import (
    Extent,
    extend,
    insert,
    last_of_each,
    replace,
    stored_values,
)
from clearwatt.service.store.session import Session

EntityAndZone = tuple[str, str]
"""Ids of an entity and its zone."""


@dataclass(slots=True)
class EntityCache:
    """Cache of entities and extents, so that a batch need not query them.

    A deletion clears it, also one by another process. Extents only grow, so an outdated one
    (another process has extended it) costs only a redundant write.
    """

    members: dict[int, EntityAndZone] = field(default_factory=dict)
    extents: dict[int, Extent] = field(default_factory=dict)
    removals: int = -1

    def clear(self) -> None:
        """Forget everything, because entities were deleted."""
        self.members, self.extents = {}, {}

    def is_current(self, session: Session, seen: int) -> bool:
        """Whether nothing was deleted since `removals` was ``seen``; if so, the cache is cleared.

        Call it when the journals are locked, which a deletion locks, too.
        """
        removals = revisions.current(session, "removals")
        if removals != self.removals:  # another thread may have noticed it before
            self.clear()
            self.removals = removals
        return removals == seen

    def find(self, session: Session, numbers: npt.NDArray[np.int32]) -> dict[int, EntityAndZone]:
        """The entities with these numbers."""
        wanted: list[int] = np.unique(numbers).tolist()
        members = self.members
        if any(number not in members for number in wanted):
            rows = session.rows("SELECT number, id, zone FROM entities")
            members = {number: (entity, zone) for number, entity, zone in rows}
            self.members = members
        try:
            return {number: members[number] for number in wanted}
        except KeyError as error:
            raise UnregisteredEntityError(
                f"there is no entity number {error}; register it first"
            ) from None


def add(
    session: Session, readings: Readings, *, at: float, directory: EntityCache
) -> tuple[Receipt, dict[int, Extent]]:
    """Store and journal new or different readings; returns a receipt and the grown extents."""
    batch = last_of_each(readings)
    seen = directory.removals
    members = directory.find(session, batch["entity"])
    journals = journal.lock_journals(session, {zone for _, zone in members.values()})
    if not directory.is_current(session, seen):
        # The zones are the same ones: the number of an entity is never used again.
        members = directory.find(session, batch["entity"])
    found, before = stored_values(session, batch)
    same = found & ((before == batch["value"]) | (np.isnan(before) & np.isnan(batch["value"])))
    changed, corrected = batch[~same], batch[found & ~same]
    grown: dict[int, Extent] = {}
    if len(changed):
        new = batch[~found]
        insert(session, new, at=at)
        if len(corrected):
            replace(session, corrected, at=at)
        grown = extend(session, new, directory.extents)
        after = journal.append(session, list(_additions(changed, new, members, journals)), at=at)
        heads = {entry.zone: entry.head for entry in after}
        events.record(session, list(_corrections(corrected, members, heads, at=at)))
    receipt = Receipt(
        new=len(changed) - len(corrected),
        duplicates=len(readings) - len(changed),
        corrections=len(corrected),
    )
    return receipt, grown


def _additions(
    changed: Readings,
    new: Readings,
    members: dict[int, EntityAndZone],
    journals: dict[str, journal.Journal],
) -> Iterator[journal.Addition]:
    """One journal entry per zone, readings in the order of arrival."""
    numbers = {zone: position for position, zone in enumerate(sorted(journals))}
    place = {number: numbers[zone] for number, (_, zone) in members.items()}
    of_changed, of_new = (
        np.array([place[number] for number in part["entity"].tolist()], dtype=np.int64)
        for part in (changed, new)
    )
    counts = np.bincount(of_new, minlength=len(numbers))
    for zone, position in numbers.items():
        part = changed[of_changed == position]
        if len(part):
            content = dump_readings(part)
            count = int(counts[position])
            yield journal.Addition(journals[zone], "readings", content, readings=count)


def _corrections(
    corrected: Readings, members: dict[int, EntityAndZone], heads: dict[str, int], *, at: float
) -> Iterator[ServiceEvent]:
    """One event per entity, without the values."""
    for number in np.unique(corrected["entity"]).tolist():
        times = corrected["time"][corrected["entity"] == number]
        entity, zone = members[number]
        yield ServiceEvent(
            key=f"correction:{zone}:{heads[zone]}:{entity}",
            kind="correction",
            message=f"{len(times)} stored readings of {entity} were replaced by other values",
            at=at,
            zone=zone,
            entity=entity,
            time=int(times.max()),
            details={"readings": len(times), "first": int(times.min()), "last": int(times.max())},
        )
