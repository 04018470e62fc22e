"""Collects events, versions and verdicts until they are committed as one outcome."""

from __future__ import annotations

import time as clock
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from clearwatt.clear.component import Component
from clearwatt.clear.events import UpdateEvent
from clearwatt.clear.model_saving import pack_version
from clearwatt.service.files import ModelFiles
from clearwatt.service.learner.apply.status import zone_status
from clearwatt.service.learner.apply.zone_state import ZoneState
from clearwatt.service.records import (
    Flag,
    Outcome,
    ServiceEvent,
    StoredVersion,
    Verdict,
    VersionStatus,
)

_NOT_DEPLOYED = {True: "awaiting", False: "refused"}


class OutcomeBuilder:
    """Events, versions and verdicts since the last outcome; model files are written at once."""

    def __init__(self, state: ZoneState, files: ModelFiles) -> None:
        self.state, self.files = state, files
        self.events: list[ServiceEvent] = []
        self.versions: list[StoredVersion] = []
        self.verdicts: list[Verdict] = []

    def build(self) -> Outcome:
        """The outcome to commit; the collection starts anew."""
        state = self.state
        outcome = Outcome(
            status=zone_status(state),
            events=tuple(self.events),
            versions=tuple(self.versions),
            verdicts=tuple(self.verdicts),
            signals=state.live.days(state.numbers),
            intervals=state.intervals.new_snapshot(state.zone.id, state.numbers),
        )
        self.events, self.versions, self.verdicts = [], [], []
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

    def verdict(self, entity: str, time: int, flag: Flag, reason: str = "") -> None:
        """Add the flag of a reading."""
        self.verdicts.append(Verdict(self.state.entities[entity].number, time, flag, reason))

    def update(self, component: Component, event: UpdateEvent, *, time: int) -> None:
        """Add an update: its event and, unless it was refused, its model."""
        key = self.state.key(component)
        size = 1.0 if component.name == "autoencoder" else self.state.power_size(str(event.entity))
        event = event.scaled(size)
        before = self.state.deployed.get(key)
        version = self._version_of(component, event, time=time)
        kind = "update" if event.accepted else _NOT_DEPLOYED[version is not None]
        self.event(
            f"update:{key}:{component.updates}",
            kind,
            event.explain(self._unit_of(component)),
            entity=None if event.entity is None else str(event.entity),
            time=time,
            details={**asdict(event), "before": before, "after": version, "unit": "power"},
        )

    def _unit_of(self, component: Component) -> str:
        """The unit of a component's errors: power has one, the representation has none."""
        if component.name != "predictor":
            return ""
        return self.state.entities[str(component.entity)].unit

    def _version_of(self, component: Component, event: UpdateEvent, *, time: int) -> str | None:
        if event.accepted:
            return self.deploy(component, time=time, event=True)
        candidate = component.candidate
        if candidate is None or candidate.number != component.updates:
            return None
        return self._write_version(component, "awaiting", time=time, event=True)

    def deploy(self, component: Component, *, time: int | None, event: bool = False) -> str:
        """Write a component's model and make it the deployed one."""
        version = self._write_version(component, "deployed", time=time, event=event)
        self.activate(component, version)
        return version

    def activate(self, component: Component, version: str) -> None:
        """Make a version the deployed one of a component."""
        self.state.deployed[self.state.key(component)] = version
        self.state.generation += 1

    def _write_version(
        self, component: Component, status: VersionStatus, *, time: int | None, event: bool
    ) -> str:
        key = self.state.key(component)
        version = f"{key}:{component.updates}"
        model = component if status == "deployed" else component.candidate
        assert model is not None
        path = self.files.write(version, *pack_version(model))
        entity = None if component.entity is None else str(component.entity)
        size = self.state.power_size(entity) if entity and component.name == "predictor" else 1.0
        self.versions.append(
            StoredVersion(
                id=version,
                component=component.name,
                zone=self.state.zone.id,
                entity=entity,
                number=component.updates,
                status=status,
                at=clock.time(),
                time=time,
                threshold=float(model.threshold) * size,
                path=path,
                event=f"update:{version}" if event else None,
            )
        )
        return version
