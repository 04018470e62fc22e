"""The zones and entities of a store, cached in memory for the intake of readings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock

from clearwatt.errors import ClearwattError
from clearwatt.service.records import RegisteredEntity, Zone
from clearwatt.service.store import Store


class UnknownIdError(ClearwattError):
    """A zone, entity or version that does not exist."""


@dataclass(frozen=True, slots=True)
class RegistrySnapshot:
    """All zones and entities at one moment; ``numbers`` maps an entity's number to it."""

    zones: Mapping[str, Zone]
    entities: Mapping[str, RegisteredEntity]
    numbers: Mapping[int, RegisteredEntity]


class Registry:
    """Registers zones and entities and caches them; an unknown id makes it read the store again.

    The snapshot is replaced as a whole, so that readers need no lock. Changes run one after the
    other, each with its change of the snapshot, so that nothing deleted is put back into it.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock, self._changes = Lock(), Lock()
        self._snapshot: RegistrySnapshot | None = None
        self._revision = -1

    @property
    def snapshot(self) -> RegistrySnapshot:
        """The cached zones and entities."""
        return self._snapshot or self.refresh()

    def refresh(self) -> RegistrySnapshot:
        """Read everything again."""
        with self._lock:
            self._revision = self._store.registry_revision()  # before the rest, lest one be missed
            self._snapshot = _build_snapshot(self._store.zones(), self._store.entities())
            return self._snapshot

    def zone(self, zone: str) -> Zone:
        """One zone by id, or UnknownIdError."""
        found = self.snapshot.zones.get(zone) or self._read_again().zones.get(zone)
        if found is None:
            raise UnknownIdError(f"zone {zone!r} is unknown; register it at POST /v1/zones")
        return found

    def entity(self, entity: str) -> RegisteredEntity:
        """One entity by id, or UnknownIdError."""
        found = self.snapshot.entities.get(entity) or self._read_again().entities.get(entity)
        if found is None:
            raise UnknownIdError(f"entity {entity!r} is unknown; register it at POST /v1/entities")
        return found

    def find_all(self, entities: set[str]) -> RegistrySnapshot:
        """The snapshot; the store is read again if one of these is not in it."""
        snapshot = self.snapshot
        return snapshot if entities <= snapshot.entities.keys() else self._read_again()

    def zone_entities(self, zone: str) -> list[RegisteredEntity]:
        """A zone's entities, by number."""
        return [entity for entity in self.snapshot.entities.values() if entity.zone == zone]

    def add_zone(self, zone: Zone) -> bool:
        """Register a zone; returns whether it is new. One that is not keeps its name."""
        with self._changes:
            new = self._store.add_zone(zone)
            if new:
                self._join([zone], [])
            elif zone.id not in self.snapshot.zones:
                self.refresh()
            return new

    def add_entities(
        self, entities: Sequence[RegisteredEntity]
    ) -> tuple[list[RegisteredEntity], int]:
        """Register entities; returns all of them as stored, and how many are new."""
        with self._changes:
            before = self.snapshot.entities
            added = self._store.add_entities(entities)
            self._join([], added)
            return added, sum(entity.id not in before for entity in added)

    def rename_zone(self, zone: str, name: str) -> str:
        """Change the name of a zone; returns the one before."""
        with self._changes:
            before = self._store.rename_zone(self.zone(zone).id, name)
            self.refresh()
            return before

    def rename_entity(self, entity: str, name: str) -> str:
        """Change the name of an entity; returns the one before."""
        with self._changes:
            before = self._store.rename_entity(self.entity(entity).id, name)
            self.refresh()
            return before

    def remove_zone(self, zone: str, *, actor: str, at: float) -> list[RegisteredEntity]:
        """Delete a zone; returns its entities."""
        with self._changes:
            members = self._store.remove_zone(self.zone(zone), actor=actor, at=at)
            self.refresh()
            return members

    def remove_entity(self, entity: str, *, actor: str, at: float) -> tuple[RegisteredEntity, int]:
        """Delete an entity; returns it, and the number of the command for the learner."""
        with self._changes:
            found = self.entity(entity)
            number = self._store.remove_entity(found, actor=actor, at=at)
            self.refresh()
            return found, number

    def _join(self, zones: Sequence[Zone], entities: Sequence[RegisteredEntity]) -> None:
        known = self.snapshot
        with self._lock:
            known = self._snapshot or known
            self._snapshot = _build_snapshot(
                [*known.zones.values(), *zones], [*known.entities.values(), *entities]
            )

    def _read_again(self) -> RegistrySnapshot:
        """The snapshot, read again if something was registered since, here or by another process.

        An id that nobody has registered costs one row of the store.
        """
        known = self._snapshot
        if known is not None and self._store.registry_revision() == self._revision:
            return known
        return self.refresh()


def _build_snapshot(
    zones: Iterable[Zone], entities: Iterable[RegisteredEntity]
) -> RegistrySnapshot:
    by_id = {entity.id: entity for entity in entities}
    return RegistrySnapshot(
        zones={zone.id: zone for zone in zones},
        entities=by_id,
        numbers={entity.number: entity for entity in by_id.values()},
    )
