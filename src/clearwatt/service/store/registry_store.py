"""The part of a store that has zones and entities: registration, names, deletion."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager

from clearwatt.service.records import RegisteredEntity, Zone
from clearwatt.service.store import ingest, registry, removal
from clearwatt.service.store.session import Session


class RegistryStore(ABC):
    """Zones and entities of a store; see `clearwatt.service.store.base.Store`."""

    def __init__(self) -> None:
        self._directory = ingest.EntityCache()

    @abstractmethod
    def read_session(self) -> AbstractContextManager[Session]:
        """A session that only reads."""

    @abstractmethod
    def write_session(self) -> AbstractContextManager[Session]:
        """A session in one transaction: durable when it ends, rolled back if it fails."""

    def add_zone(self, zone: Zone) -> bool:
        """Register a zone; False if it exists and is the same, ConflictError if it differs."""
        with self.write_session() as session:
            return registry.add_zone(session, zone)

    def add_entities(self, entities: Sequence[RegisteredEntity]) -> list[RegisteredEntity]:
        """Register entities and assign their numbers; repeating it changes nothing.

        All or nothing; ConflictError if one exists and differs, DataError if a zone is unknown.
        """
        with self.write_session() as session:
            return registry.add_entities(session, entities)

    def zones(self) -> list[Zone]:
        """All zones, by id."""
        with self.read_session() as session:
            return registry.zones(session)

    def entities(self, zone: str | None = None) -> list[RegisteredEntity]:
        """All entities, or a zone's, in order of their numbers."""
        with self.read_session() as session:
            return registry.entities(session, zone)

    def rename_zone(self, zone: str, name: str) -> str:
        """Change the name that people see; returns the one before. The id stays."""
        with self.write_session() as session:
            return removal.rename(session, "zones", zone, name=name)

    def rename_entity(self, entity: str, name: str) -> str:
        """Change the name that people see; returns the one before. The id stays."""
        with self.write_session() as session:
            return removal.rename(session, "entities", entity, name=name)

    def remove_entity(self, entity: RegisteredEntity, *, actor: str, at: float) -> int:
        """Delete an entity; returns the number of the command by which the learner forgets it.

        Its readings are deleted by `remove_readings`. The journal keeps them, so that the models of
        the others can be learned again from it.
        """
        with self.write_session() as session:
            number = removal.remove_entity(session, entity, actor=actor, at=at)
        self._directory.clear()  # only after the commit
        return number

    def remove_zone(self, zone: Zone, *, actor: str, at: float) -> list[RegisteredEntity]:
        """Delete a zone and its journal; returns its entities, whose readings are deleted later."""
        with self.write_session() as session:
            members = removal.remove_zone(session, zone, actor=actor, at=at)
        self._directory.clear()
        return members

    def remove_readings(self) -> bool:
        """Delete some readings of deleted entities; whether there may be more."""
        with self.write_session() as session:
            return removal.remove_readings(session)

    def removed_entities(self, zone: str) -> list[RegisteredEntity]:
        """Deleted entities that the journal of a zone still tells of."""
        with self.read_session() as session:
            return removal.removed_entities(session, zone)

    def unforgotten_entities(self) -> set[int]:
        """Numbers of deleted entities that the learner has yet to forget."""
        with self.read_session() as session:
            return removal.unforgotten_entities(session)

    def journal_bases(self) -> Mapping[str, int]:
        """Number after which the journal of each zone begins that was deleted once."""
        with self.read_session() as session:
            return removal.journal_bases(session)

    def journal_base(self, zone: str) -> int:
        """Number after which the journal of a zone begins."""
        return self.journal_bases().get(zone, 0)

    def unused_files(self) -> list[str]:
        """Paths of model files of what was deleted."""
        with self.read_session() as session:
            return removal.unused_files(session)

    def forget_files(self, paths: Sequence[str]) -> None:
        """Note that these files are deleted."""
        with self.write_session() as session:
            removal.forget_files(session, paths)
