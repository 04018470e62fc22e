"""What a person can tell a zone to do, and what becomes of it; each leaves an event."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np

from clearwatt.clear.component import Component
from clearwatt.clear.deployed_models import DeployedModels, columns_of
from clearwatt.clear.model_saving import unpack_version
from clearwatt.errors import ClearwattError, ConfigurationError, DataError
from clearwatt.service.folding.findings import Findings
from clearwatt.service.folding.intake import Late
from clearwatt.service.folding.learning import learn_beside
from clearwatt.service.folding.starting import warm_up
from clearwatt.service.folding.zone_state import WHOLE_ZONE, ZoneState
from clearwatt.service.records import Command, Flag
from clearwatt.service.settings import ZoneSettings
from clearwatt.service.store import Store
from clearwatt.service.times import text as written
from clearwatt.training.streams import Stream

T = TypeVar("T")

FIXED = ("strategy", "parameters", "familiarity_capacity", "width", "layers", "latent", "seed")
"""Settings that what has been learned depends on."""


class Answer(NamedTuple):
    """What a command led to, in words and values."""

    message: str
    details: dict[str, Any]


@dataclass(frozen=True, eq=False)
class Desk:
    """All that a command may need."""

    command: Command
    seq: int
    state: ZoneState
    findings: Findings
    store: Store

    @property
    def subject(self) -> str:
        """Whom it is about, in words."""
        return self.command.entity or f"zone {self.state.zone.id}"

    @property
    def name(self) -> str:
        """The entity, or the mark of the whole zone."""
        return self.command.entity or WHOLE_ZONE

    @property
    def entity(self) -> str:
        """The entity; a clear error if none was named."""
        if self.command.entity is None:
            raise ConfigurationError(f"{self.command.kind} needs an entity")
        return self.command.entity

    def argument(self, name: str, kind: type[T]) -> T:
        """An argument of this type; a journal may hold what an older release wrote."""
        value = self.command.arguments.get(name)
        if not isinstance(value, kind):
            raise ConfigurationError(
                f"{self.command.kind} needs {name} as {kind.__name__}, not {value!r}"
            )
        return value

    @property
    def components(self) -> list[Component]:
        """The components the command is about."""
        return [
            part
            for part in self.state.components
            if self.command.entity is None or part.entity == self.command.entity
        ]


def obey(
    command: Command, seq: int, state: ZoneState, findings: Findings, store: Store
) -> Stream[None]:
    """Carry a command out; one that cannot be is refused, with the reason as its event."""
    desk = Desk(command, seq, state, findings, store)
    try:
        if command.entity is not None and command.entity not in state.entities:
            raise DataError(f"zone {state.zone.id} has no entity {command.entity!r}")
        answer = yield from _carry_out(desk)
        kind = str(command.kind)
    except ClearwattError as error:
        answer, kind = Answer(f"{command.kind} of {desk.subject}: {error}", {}), "command refused"
    findings.event(
        f"command:{state.zone.id}:{seq}",
        kind,
        answer.message,
        actor=command.actor,
        entity=command.entity,
        time=None if state.rows is None else state.rows.next - state.rows.step,
        details={"command": command.kind, **answer.details},
    )


def _carry_out(desk: Desk) -> Stream[Answer]:
    if desk.command.kind in ("warmup", "adopt"):
        message, details = yield from warm_up(
            desk.state,
            desk.findings,
            desk.store,
            entity=desk.command.entity,
            arguments=desk.command.arguments,
        )
        return Answer(message, details)
    if desk.command.kind == "release":
        answer = yield from _release(desk)
        return answer
    return _AT_ONCE[desk.command.kind](desk)


def _hold(desk: Desk) -> Answer:
    desk.state.held.add(desk.name)
    return Answer(f"{desk.subject} learns nothing until it is resumed; forecasts go on", {})


def _resume(desk: Desk) -> Answer:
    desk.state.held.discard(desk.name)
    return Answer(f"{desk.subject} learns again", {})


def _approval(desk: Desk) -> Answer:
    required = desk.argument("required", bool)
    for component in desk.components:
        component.approval = required
    says = "waits for approval before a new model is deployed" if required else "deploys by itself"
    return Answer(f"{desk.subject} {says}", {"required": required})


def _activate(desk: Desk) -> Answer:
    identity = desk.argument("version", str)
    component = _component_of(desk.state, identity)
    version = desk.store.version(identity)
    if version is None:
        raise DataError(f"there is no model {identity!r}")
    model = unpack_version(desk.findings.files.read(version.path), component)
    component.activate(model.params, model.threshold, model.state)
    if desk.state.instance is not None:
        fresh = columns_of(desk.state.instance, component.entity)
        desk.state.intervals.swap(fresh, DeployedModels(desk.state.instance).predict)
    candidate = component.candidate
    if candidate is not None and identity.endswith(f":{candidate.number}"):
        component.candidate = None
    before = desk.state.deployed.get(desk.state.key(component))
    desk.findings.put_into_service(component, identity)
    desk.findings.versions.append(replace(version, status="deployed"))
    return Answer(
        f"model {identity} is in service instead of {before}; buffers were kept",
        {"before": before, "after": identity},
    )


def _reject(desk: Desk) -> Answer:
    identity = desk.argument("version", str)
    component = _component_of(desk.state, identity)
    version = desk.store.version(identity)
    candidate = component.candidate
    if version is None or candidate is None or not identity.endswith(f":{candidate.number}"):
        raise DataError(f"model {identity!r} does not await approval")
    component.candidate = None
    desk.findings.versions.append(replace(version, status="refused"))
    return Answer(f"model {identity} was rejected", {"version": identity})


def _component_of(state: ZoneState, identity: str) -> Component:
    component = state.component(identity.rpartition(":")[0])
    if component is None:
        raise DataError(f"model {identity!r} belongs to no component of zone {state.zone.id}")
    return component


def _exclude(desk: Desk) -> Answer:
    start, end = desk.argument("start", int), desk.argument("end", int)
    if start >= end:
        raise ConfigurationError(f"the window from {written(start)} to {written(end)} is empty")
    state = desk.state
    state.exclusions.setdefault(desk.name, []).append((start, end))
    names = [desk.command.entity] if desk.command.entity else state.columns
    forgotten = _forget(desk, [name for name in names if name in state.columns], start, end)
    return Answer(
        f"{desk.subject} does not learn from {written(start)} to {written(end)}; {forgotten} "
        "samples were forgotten",
        {"start": start, "end": end, "forgotten": forgotten, **_reason(desk)},
    )


def _forget(desk: Desk, names: Sequence[str], start: int, end: int) -> int:
    state = desk.state
    if state.instance is None or not names:
        return 0
    times = state.row_times
    numbers = np.flatnonzero((times >= start) & (times < end))
    for name in names:
        for moment in np.unique(times[numbers]):
            desk.findings.verdict(name, int(moment), Flag.EXCLUDED, "in an excluded window")
    columns = np.array([state.columns.index(name) for name in names], np.int64)
    state.intervals.forget(columns, start, end)
    whole = desk.command.entity is None
    return state.instance.forget(numbers, None if whole else list(names), inputs=whole)


def _reason(desk: Desk) -> dict[str, str]:
    return {"reason": str(desk.command.arguments.get("reason", ""))}


def _release(desk: Desk) -> Stream[Answer]:
    taken = _from_quarantine(desk, Flag.RELEASED)
    if desk.entity in desk.state.columns and taken:
        column = desk.state.columns.index(desk.entity)
        late = Late(
            np.full(len(taken), column, np.int64),
            np.array(list(taken), np.int64),
            np.array(list(taken.values()), np.float32),
        )
        yield from learn_beside(desk.state, desk.findings, late)
    return Answer(
        f"{len(taken)} readings of {desk.entity} were released and learned from",
        {"times": list(taken)},
    )


def _drop(desk: Desk) -> Answer:
    taken = _from_quarantine(desk, Flag.DROPPED)
    return Answer(f"{len(taken)} readings of {desk.entity} were dropped", {"times": list(taken)})


def _from_quarantine(desk: Desk, flag: Flag) -> dict[int, float]:
    held = desk.state.quarantined.get(desk.entity, {})
    wanted = [int(moment) for moment in desk.argument("times", list)]
    unknown = [moment for moment in wanted if moment not in held]
    if unknown:
        raise DataError(f"{desk.entity} has no quarantined reading at {written(unknown[0])}")
    for moment in wanted:
        desk.findings.verdict(desk.entity, moment, flag, _reason(desk)["reason"])
    return {moment: held.pop(moment) for moment in sorted(set(wanted))}


def _settings(desk: Desk) -> Answer:
    if desk.command.entity is not None:
        raise ConfigurationError("settings are those of a zone, not of one entity")
    state = desk.state
    wanted = ZoneSettings.read({**state.settings.plain(), **desk.command.arguments})
    changed = {
        name: value
        for name, value in wanted.plain().items()
        if value != state.settings.plain()[name]
    }
    fixed = [name for name in FIXED if name in changed]
    if fixed and state.instance is not None:
        raise ConfigurationError(
            f"{fixed[0]} cannot change once the zone has learned; register a new zone"
        )
    state.settings = wanted
    if state.instance is not None:
        state.instance.settings = wanted.core(state.zone.step)
        for component in state.components:
            component.settings = state.instance.settings
    return Answer(f"settings of zone {state.zone.id} changed: {changed}", {"changed": changed})


_AT_ONCE: dict[str, Callable[[Desk], Answer]] = {
    "hold": _hold,
    "resume": _resume,
    "approval": _approval,
    "activate": _activate,
    "reject": _reject,
    "exclude": _exclude,
    "drop": _drop,
    "settings": _settings,
}
