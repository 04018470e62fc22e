"""Intake of readings: new ones, duplicates and corrections, of one request or of several."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

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

    def zones_of(self, numbers: npt.NDArray[np.int32]) -> set[str]:
        """The zones of the entities with these numbers, as far as they are in the cache."""
        members = self.members
        return {members[number][1] for number in set(numbers.tolist()) if number in members}

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


class Delivery(NamedTuple):
    """Readings of one request, and the time of their arrival."""

    readings: Readings
    at: float


def add(
    session: Session, deliveries: Sequence[Delivery], *, directory: EntityCache
) -> tuple[list[Receipt], dict[int, Extent]]:
    """Store and journal new or different readings; returns receipts and the grown extents.

    The result is that of one delivery after the other.
    """
    batches = [last_of_each(delivery.readings) for delivery in deliveries]
    every = np.concatenate(batches)
    seen = directory.removals
    members = directory.find(session, every["entity"])
    journals = journal.lock_journals(session, {zone for _, zone in members.values()})
    if not directory.is_current(session, seen):
        # The zones are the same ones: the number of an entity is never used again.
        members = directory.find(session, every["entity"])
    intake = _Intake(session, members, journals, directory.extents)
    disjoint = len(batches) == 1 or len(last_of_each(every)) == len(every)
    size = len(batches) if disjoint else 1  # a later delivery repeats or corrects an earlier one
    receipts: list[Receipt] = []
    for first in range(0, len(batches), size):
        receipts += intake.store(deliveries[first : first + size], batches[first : first + size])
    return receipts, intake.grown


@dataclass(frozen=True, slots=True)
class _Part:
    """A delivery, without repetitions inside it (n), compared with what is stored."""

    delivery: Delivery
    batch: Readings
    found: npt.NDArray[np.bool_]
    same: npt.NDArray[np.bool_]

    @property
    def changed(self) -> Readings:
        return self.batch[~self.same]

    @property
    def new(self) -> Readings:
        return self.batch[~self.found]

    @property
    def corrected(self) -> Readings:
        return self.batch[self.found & ~self.same]

    def receipt(self) -> Receipt:
        changed, new = np.count_nonzero(~self.same), np.count_nonzero(~self.found)
        return Receipt(
            new=int(new),
            duplicates=len(self.delivery.readings) - int(changed),
            corrections=int(changed - new),
        )


@dataclass(slots=True)
class _Intake:
    """A transaction: its journals after the entries so far, and the extents that have grown."""

    session: Session
    members: dict[int, EntityAndZone]
    journals: dict[str, journal.Journal]
    extents: dict[int, Extent]
    grown: dict[int, Extent] = field(default_factory=dict)

    def store(
        self, deliveries: Sequence[Delivery], batches: Sequence[Readings]
    ) -> Iterator[Receipt]:
        """Store deliveries whose ``batches`` have no entity and time in common."""
        parts = list(self._compare(deliveries, batches))
        changed = [part for part in parts if not part.same.all()]
        if changed:
            self._write(changed)
            entries: list[journal.Addition] = []
            corrections: list[ServiceEvent] = []
            for part in changed:
                entries += self._additions(part)
                corrections += self._corrections(part)
            journal.append(self.session, entries)
            events.record(self.session, corrections)
        return (part.receipt() for part in parts)

    def _compare(
        self, deliveries: Sequence[Delivery], batches: Sequence[Readings]
    ) -> Iterator[_Part]:
        every = np.concatenate(batches)
        found, before = stored_values(self.session, every)
        same = found & ((before == every["value"]) | (np.isnan(before) & np.isnan(every["value"])))
        start = 0
        for delivery, batch in zip(deliveries, batches, strict=True):
            span = slice(start, start + len(batch))
            yield _Part(delivery, batch, found[span], same[span])
            start += len(batch)

    def _write(self, parts: Sequence[_Part]) -> None:
        """Write the rows of all deliveries at once."""
        new = np.concatenate([part.new for part in parts])
        insert(self.session, new, at=_arrivals(parts, [len(part.new) for part in parts]))
        corrected = np.concatenate([part.corrected for part in parts])
        if len(corrected):
            at = _arrivals(parts, [len(part.corrected) for part in parts])
            replace(self.session, corrected, at=at)
        self.grown |= extend(self.session, new, ChainMap(self.grown, self.extents))

    def _additions(self, part: _Part) -> Iterator[journal.Addition]:
        """One journal entry per zone, readings in the order of arrival."""
        changed, new = part.changed, part.new
        zones = sorted({self.members[number][1] for number in set(changed["entity"].tolist())})
        numbers = {zone: position for position, zone in enumerate(zones)}
        of_changed, of_new = (
            np.array([numbers[self.members[n][1]] for n in rows["entity"].tolist()], dtype=np.int64)
            for rows in (changed, new)
        )
        counts = np.bincount(of_new, minlength=len(numbers))
        for zone, position in numbers.items():
            addition = journal.Addition(
                self.journals[zone],
                "readings",
                dump_readings(changed[of_changed == position]),
                at=part.delivery.at,
                readings=int(counts[position]),
            )
            self.journals[zone] = addition.resulting_journal()
            yield addition

    def _corrections(self, part: _Part) -> Iterator[ServiceEvent]:
        """One event per entity, without the values."""
        corrected = part.corrected
        for number in np.unique(corrected["entity"]).tolist():
            times = corrected["time"][corrected["entity"] == number]
            entity, zone = self.members[number]
            first, last = int(times.min()), int(times.max())
            yield ServiceEvent(
                key=f"correction:{zone}:{self.journals[zone].head}:{entity}",
                kind="correction",
                message=f"{len(times)} stored readings of {entity} were replaced by other values",
                at=part.delivery.at,
                zone=zone,
                entity=entity,
                time=last,
                details={"readings": len(times), "first": first, "last": last},
            )


def _arrivals(parts: Sequence[_Part], counts: Sequence[int]) -> list[float]:
    """The time of arrival of each row, for so many rows of each delivery."""
    return np.repeat([part.delivery.at for part in parts], counts).tolist()
