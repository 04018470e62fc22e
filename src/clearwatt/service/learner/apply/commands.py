"""Commands of a person to a zone; each is recorded as an event."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np

from clearwatt.errors import ClearwattError, ConfigurationError, DataError
from clearwatt.service.learner.apply.exclusions import (
    Inclusion,
    exclude,
    include,
    weather_between,
)
from clearwatt.service.learner.apply.fleet_start import start_entity
from clearwatt.service.learner.apply.intake import LateReadings
from clearwatt.service.learner.apply.learning import learn_past_readings
from clearwatt.service.learner.apply.outcome_builder import OutcomeBuilder
from clearwatt.service.learner.apply.suspicion import confirm, switch
from clearwatt.service.learner.apply.warm_up import warm_up
from clearwatt.service.learner.apply.zone_models import ZoneModels
from clearwatt.service.learner.apply.zone_state import WHOLE_ZONE, ZoneState
from clearwatt.service.records import Command, Flag, RemovedEntity, StoredSeries
from clearwatt.service.status import ExcludedWindow
from clearwatt.service.store import Store
from clearwatt.service.times import text as written
from clearwatt.training.streams import Stream

T = TypeVar("T")

FIXED = (
    "forecaster",
    "delay",
    "memory",
    "strategy",
    "parameters",
    "familiarity_capacity",
    "width",
    "layers",
    "latent",
    "seed",
)
"""Settings that cannot change after the first model."""


class CommandResult(NamedTuple):
    """The result of a command: a message and details for its event."""

    message: str
    details: dict[str, Any]


@dataclass(frozen=True, eq=False)
class CommandContext:
    """A command with the zone it applies to."""

    command: Command
    state: ZoneState
    builder: OutcomeBuilder
    store: Store
    seq: int

    @property
    def subject(self) -> str:
        """The entity or zone, as messages name it."""
        return self.command.entity or f"zone {self.state.zone.id}"

    @property
    def name(self) -> str:
        """The entity, or the key of the whole zone."""
        return self.command.entity or WHOLE_ZONE

    @property
    def entity(self) -> str:
        """The entity; ConfigurationError if there is none."""
        if self.command.entity is None:
            raise ConfigurationError(f"{self.command.kind} needs an entity")
        return self.command.entity

    def argument(self, name: str, kind: type[T]) -> T:
        """An argument, with a checked type, because an older release may have written it."""
        value = self.command.arguments.get(name)
        if not isinstance(value, kind):
            raise ConfigurationError(
                f"{self.command.kind} needs {name} as {kind.__name__}, not {value!r}"
            )
        return value


def apply_command(
    command: Command, seq: int, state: ZoneState, builder: OutcomeBuilder, store: Store
) -> Stream[None]:
    """Run a command; if it fails, its event has the reason."""
    context = CommandContext(command, state, builder, store, seq)
    try:
        if command.entity is not None and command.entity not in state.entities:
            raise DataError(f"zone {state.zone.id} has no entity {command.entity!r}")
        result = yield from _run(context)
        kind = str(command.kind)
    except ClearwattError as error:
        result, kind = (
            CommandResult(f"{command.kind} of {context.subject}: {error}", {}),
            "command refused",
        )
    builder.event(
        f"command:{state.zone.id}:{seq}",
        kind,
        result.message,
        actor=command.actor,
        entity=command.entity,
        time=None if state.rows is None else state.rows.next - state.rows.step,
        details={"command": command.kind, **result.details},
    )


def _run(context: CommandContext) -> Stream[CommandResult]:
    if context.command.kind in ("warmup", "adopt"):
        message, details = yield from warm_up(
            context.state,
            context.builder,
            context.store,
            entity=context.command.entity,
            arguments=context.command.arguments,
        )
        return CommandResult(message, details)
    if context.command.kind in _WITH_LEARNING:
        result = yield from _WITH_LEARNING[context.command.kind](context)
        return result
    return _AT_ONCE[context.command.kind](context)


def _hold(context: CommandContext) -> CommandResult:
    context.state.held.add(context.name)
    return CommandResult(
        f"{context.subject} learns nothing until it is resumed; forecasts go on", {}
    )


def _resume(context: CommandContext) -> CommandResult:
    context.state.held.discard(context.name)
    return CommandResult(f"{context.subject} learns again", {})


def _approval(context: CommandContext) -> CommandResult:
    required = context.argument("required", bool)
    if context.state.models is not None:
        context.state.models.require_approval(context.command.entity, required=required)
    effect = (
        "waits for approval before a new model is deployed" if required else "deploys by itself"
    )
    return CommandResult(f"{context.subject} {effect}", {"required": required})


def _activate(context: CommandContext) -> CommandResult:
    identity = context.argument("version", str)
    state, (models, key) = context.state, _models_of(context.state, identity)
    version = context.store.version(identity)
    if version is None or version.zone != state.zone.id:
        raise DataError(f"there is no model {identity!r} of zone {state.zone.id}")
    candidate = models.candidate(key)
    models.activate(key, context.builder.files.read(version.path), state.intervals)
    if identity == f"{key}:{candidate}":
        models.drop_candidate(key)
    before = state.deployed.get(key)
    if version.entity is not None:
        state.leave_fleet(version.entity)
    context.builder.activate(key, identity)
    context.builder.versions.append(replace(version, status="deployed"))
    state.note_served(version)
    return CommandResult(
        f"model {identity} is in service instead of {before}; buffers were kept",
        {"before": before, "after": identity},
    )


def _reject(context: CommandContext) -> CommandResult:
    identity = context.argument("version", str)
    models, key = _models_of(context.state, identity)
    version = context.store.version(identity)
    if (
        version is None
        or version.zone != context.state.zone.id
        or identity != f"{key}:{models.candidate(key)}"
    ):
        raise DataError(f"model {identity!r} does not await approval")
    models.drop_candidate(key)
    context.builder.versions.append(replace(version, status="refused"))
    return CommandResult(f"model {identity} was rejected", {"version": identity})


def _models_of(state: ZoneState, identity: str) -> tuple[ZoneModels, str]:
    """The models of a zone, and the key of the component that a version belongs to."""
    key = identity.rpartition(":")[0]
    if state.models is None or not state.models.has_component(key):
        raise DataError(f"model {identity!r} belongs to no component of zone {state.zone.id}")
    return state.models, key


def _exclude(context: CommandContext) -> Stream[CommandResult]:
    window = ExcludedWindow(
        *_window(context),
        reason=_reason(context)["reason"],
        actor=context.command.actor,
        whole_zone=context.command.entity is None,
    )
    forgotten = yield from exclude(context.state, context.builder, context.name, window)
    return CommandResult(
        f"{context.subject} does not learn from {_words(window)}; {forgotten} samples were "
        "forgotten",
        {"start": window.start, "end": window.end, "forgotten": forgotten, **_reason(context)},
    )


def _include(context: CommandContext) -> Stream[CommandResult]:
    start, end = _window(context)
    state = context.state
    if not state.held.isdisjoint({context.name, WHOLE_ZONE}):
        raise ConfigurationError(
            f"{context.subject} is held and would not learn these readings; resume it first"
        )
    windows = state.exclusions.get(context.name, [])
    found = [window for window in windows if (window.start, window.end) == (start, end)]
    if not found:
        raise DataError(
            f"{context.subject} has no excluded window from {written(start)} to {written(end)}; "
            "its page and GET /v1/entities/{id}/exclusions list those there are"
        )
    undone = Inclusion(context.name, found[0], _readings(context, found[0]))
    learned = yield from include(state, context.builder, context.store, undone)
    return CommandResult(
        f"{context.subject} learns from {_words(found[0])} again; {learned} readings were learned",
        {"start": start, "end": end, "learned": learned, "reason": found[0].reason},
    )


def _readings(context: CommandContext, window: ExcludedWindow) -> dict[str, StoredSeries]:
    """The readings that came with a command, by entity; those stored now if it has none."""
    given = context.command.arguments.get("readings")
    if given is None:
        return {
            name: context.store.readings(entity.number, start=window.start, end=window.end)
            for name, entity in context.state.entities.items()
        }
    return {
        name: StoredSeries(
            np.array(columns["times"], np.int64),
            np.array(columns["values"], np.float64),
            np.array(columns["flags"], np.uint8),
        )
        for name, columns in given.items()
    }


def _window(context: CommandContext) -> tuple[int, int]:
    start, end = context.argument("start", int), context.argument("end", int)
    if start >= end:
        raise ConfigurationError(f"the window from {written(start)} to {written(end)} is empty")
    return start, end


def _words(window: ExcludedWindow) -> str:
    return f"{written(window.start)} to {written(window.end)}"


def _reason(context: CommandContext) -> dict[str, str]:
    return {"reason": str(context.command.arguments.get("reason", ""))}


def _release(context: CommandContext) -> Stream[CommandResult]:
    taken = _from_quarantine(context, Flag.RELEASED)
    if context.entity in context.state.columns and taken:
        column = context.state.columns.index(context.entity)
        late = LateReadings(
            np.full(len(taken), column, np.int64),
            np.array(list(taken), np.int64),
            np.array(list(taken.values()), np.float32),
        )
        yield from learn_past_readings(context.state, context.builder, late)
    return CommandResult(
        f"{len(taken)} readings of {context.entity} were released and learned from",
        {"times": list(taken)},
    )


def _confirm(context: CommandContext) -> Stream[CommandResult]:
    state, name = context.state, context.entity
    if name not in state.suspicions:
        raise DataError(f"{name} is not suspected, so there is nothing to confirm")
    if not state.held.isdisjoint({name, WHOLE_ZONE}):
        raise ConfigurationError(f"{name} is held and would not learn; resume it first")
    suspicion, why = state.suspicions[name], _reason(context)
    reason = why["reason"] or "confirmed by a person"
    taken = confirm(state, context.builder, name, reason)
    if len(taken.times):
        span = int(taken.times[0]), int(taken.times[-1]) + 1
        weather = weather_between(state, context.store, *span)
        yield from learn_past_readings(state, context.builder, taken, weather=weather)
    return CommandResult(
        f"readings of {name} since {written(suspicion.since)} are real; {len(taken.times)} of them "
        "left quarantine and were learned",
        {
            "suspicion": suspicion.lie.label,
            "since": suspicion.since,
            "learned": len(taken.times),
            **why,
        },
    )


def _drop(context: CommandContext) -> CommandResult:
    taken = _from_quarantine(context, Flag.DROPPED)
    return CommandResult(
        f"{len(taken)} readings of {context.entity} were dropped", {"times": list(taken)}
    )


def _from_quarantine(context: CommandContext, flag: Flag) -> dict[int, float]:
    held = context.state.quarantined.get(context.entity, {})
    wanted = [int(moment) for moment in context.argument("times", list)]
    unknown = [moment for moment in wanted if moment not in held]
    if unknown:
        raise DataError(f"{context.entity} has no quarantined reading at {written(unknown[0])}")
    for moment in wanted:
        context.builder.add_flag(context.entity, moment, flag, _reason(context)["reason"])
    return {moment: held.pop(moment) for moment in sorted(set(wanted))}


def _settings(context: CommandContext) -> CommandResult:
    if context.command.entity is not None:
        raise ConfigurationError("settings are those of a zone, not of one entity")
    state = context.state
    wanted = state.settings.with_values(context.command.arguments)
    changed = wanted.changes_since(state.settings)
    fixed = [name for name in FIXED if name in changed]
    if fixed and state.models is not None:
        raise ConfigurationError(
            f"{fixed[0]} cannot change once the zone has learned; register a new zone"
        )
    state.settings = wanted
    if state.models is not None:
        state.models.change_settings(wanted)
    ended = switch(state) if "suspicion" in changed else 0
    words = f"; {ended} suspicions ended, their readings stay in quarantine" if ended else ""
    return CommandResult(
        f"settings of zone {state.zone.id} changed: {changed}{words}", {"changed": changed}
    )


def _start(context: CommandContext) -> CommandResult:
    context.argument("prior", str)
    context.argument("at", int)
    if context.entity in context.state.columns:  # a warm-up was under way when it was asked for
        return CommandResult(f"{context.entity} forecasts already; a start is not needed", {})
    message, details = start_entity(
        context.state,
        context.builder,
        context.store,
        entity=context.entity,
        arguments=context.command.arguments,
    )
    return CommandResult(message, details)


def _delete(context: CommandContext) -> CommandResult:
    name, number = context.entity, context.argument("number", int)
    if context.state.entities[name].number != number:
        raise DataError(f"{name} was deleted before, and registered again since")
    last = context.state.columns == [name]
    context.builder.remove(RemovedEntity(name, number, context.seq, last))
    context.state.remove_entity(name, position=context.seq)
    return CommandResult(
        f"{name} was deleted with its readings, forecasts and models", {"number": number}
    )


_WITH_LEARNING: dict[str, Callable[[CommandContext], Stream[CommandResult]]] = {
    "release": _release,
    "confirm": _confirm,
    "include": _include,
    "exclude": _exclude,
}
_AT_ONCE: dict[str, Callable[[CommandContext], CommandResult]] = {
    "hold": _hold,
    "resume": _resume,
    "approval": _approval,
    "activate": _activate,
    "reject": _reject,
    "drop": _drop,
    "settings": _settings,
    "start": _start,
    "delete": _delete,
}
