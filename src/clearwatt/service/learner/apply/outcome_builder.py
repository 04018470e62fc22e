"""Collects events, versions and verdicts until they are committed as one outcome."""

from __future__ import annotations

import time as clock
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from clearwatt.service.files import ModelFiles, entity_owner
from clearwatt.service.learner.apply.status import zone_status
from clearwatt.service.learner.apply.zone_models import ModelChange, TrainedVersion
from clearwatt.service.learner.apply.zone_state import ZoneState
from clearwatt.service.records import (
    DeployedSnapshot,
    Flag,
    Outcome,
    RemovedEntity,
    ServiceEvent,
    StoredVersion,
    Verdict,
    VersionStatus,
)


class OutcomeBuilder:
    """Events, versions and verdicts since the last outcome; model files are written at once."""

    def __init__(self, state: ZoneState, files: ModelFiles) -> None:
        self.state, self.files = state, files
        self.events: list[ServiceEvent] = []
        self.versions: list[StoredVersion] = []
        self.verdicts: list[Verdict] = []
        self.removed: list[RemovedEntity] = []
        self.unused: list[str] = []

    def build(self) -> Outcome:
        """The outcome to commit; the next one starts empty."""
        state = self.state
        outcome = Outcome(
            status=zone_status(state),
            events=tuple(self.events),
            versions=tuple(self.versions),
            verdicts=tuple(self.verdicts),
            signals=state.live.days(state.numbers),
            intervals=state.intervals.new_snapshot(state.zone.id, state.numbers),
            deployed=self._snapshot(),
            removed=tuple(self.removed),
            unused=tuple(self.unused),
        )
        self.events, self.versions, self.verdicts = [], [], []
        self.removed, self.unused = [], []
        return outcome

    def event(
        self,
        key: str,
        kind: str,
        message: str,
        *,
        actor: str = "system",
        entity: str | None = None,
        time: int | None = None,
        details: Mapping[str, Any] | None = None,
    ) -> None:
        """Add an event of the zone."""
        self.events.append(
            ServiceEvent(
                key=key,
                kind=kind,
                message=message,
                at=clock.time(),
                actor=actor,
                zone=self.state.zone.id,
                entity=entity,
                time=time,
                details=details or {},
            )
        )

    def add_flag(self, entity: str, time: int, flag: Flag, reason: str = "") -> None:
        """Add the flag of a reading."""
        self.verdicts.append(Verdict(self.state.entities[entity].number, time, flag, reason))

    def remove(self, entity: RemovedEntity) -> None:
        """Remove an entity; keys of its events must not be those of another with its id."""
        owners = (entity.id, None) if entity.last else (entity.id,)
        self.unused += [version.path for version in self.versions if version.entity in owners]
        self.versions = [version for version in self.versions if version.entity not in owners]
        self.events = [
            replace(event, key=f"{event.key} until {entity.seq}")
            if event.entity == entity.id or (entity.last and _is_of_shared_model(event))
            else event
            for event in self.events
        ]
        self.removed.append(entity)

    def change(self, change: ModelChange) -> None:
        """Add a change of the models: its event, and its new version."""
        before, version = self.state.deployed.get(change.key), change.version
        if change.kind not in ("trust", "standstill"):
            self.state.updated[change.key] = change.time
        if version is not None and change.kind in ("update", "change"):
            self.deploy(version, time=change.time, event=change.identity)
        elif version is not None:
            waiting = self._write(version, "awaiting", time=change.time, event=change.identity)
            self.state.awaiting[change.key] = waiting.without_clock()
        after = None if version is None else version.id
        self.event(
            change.identity,
            change.kind,
            change.message,
            entity=change.entity,
            time=change.time,
            details={**change.details, "before": before, "after": after, "unit": "power"},
        )

    def deploy(
        self, version: TrainedVersion, *, time: int | None, event: str | None = None
    ) -> None:
        """Write a model and make it the deployed one of its component."""
        self.state.note_served(self._write(version, "deployed", time=time, event=event))
        self.activate(version.key, version.id)

    def activate(self, key: str, version: str) -> None:
        """Make a version the deployed one of a component."""
        self.state.deployed[key] = version
        self.state.generation += 1

    def _write(
        self, version: TrainedVersion, status: VersionStatus, *, time: int | None, event: str | None
    ) -> StoredVersion:
        path = self.files.write(version.id, *version.content, owner=self._owner(version.entity))
        stored = StoredVersion(
            id=version.id,
            component=version.component,
            zone=self.state.zone.id,
            entity=version.entity,
            number=version.number,
            status=status,
            at=clock.time(),
            time=time,
            threshold=version.threshold,
            path=path,
            event=event,
        )
        self.versions.append(stored)
        return stored

    def _owner(self, entity: str | None) -> str:
        """Owner of a version; a replay of the journal leads to the same."""
        if entity is not None:
            return entity_owner(self.state.entities[entity].number)
        return f"z{self.state.removed}" if self.state.removed else ""

    def _snapshot(self) -> DeployedSnapshot | None:
        found = None if self.state.models is None else self.state.models.new_snapshot()
        return None if found is None else DeployedSnapshot(self.state.zone.id, *found)


def _is_of_shared_model(event: ServiceEvent) -> bool:
    return event.entity is None and event.key.startswith("update:")
